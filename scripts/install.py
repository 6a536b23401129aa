"""Install this project into a virtual environment: `python3 scripts/install.py .venv rl` is what `make run` does.

By uv where it is there or pip can get it, else by pip. Needs nothing but the standard library. uv knows nothing of
pip's configuration, so indexes and folders of packages that pip is told to use are handed on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from collections import deque
from pathlib import Path

OLDEST = (3, 11)
HANDED_ON = ("index-url", "extra-index-url", "find-links")


def main() -> None:
    """Make the environment if there is none, and install the project with the extras that are named."""
    if sys.version_info < OLDEST:
        sys.exit("Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11")
    folder, extras = Path(sys.argv[1]), sys.argv[2]
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True, symlinks=True)
    python, begin = folder / "bin" / "python", time.perf_counter()
    say(f"installing into {folder}: the package with [{extras}]; a minute or two, once")
    wanted = ["-c", "constraints.txt", "-e", f".[{extras}]"]
    uv = find_uv(python)
    if uv is None or not install_by_uv(uv, python, wanted):
        install_by_pip(python, wanted)
    say(f"installed in {time.perf_counter() - begin:.0f} s")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def find_uv(python: Path) -> str | None:
    """Return uv: the machine's, that of the environment, or one that pip can get; None if there is none."""
    own = python.parent / "uv"
    if not own.exists() and (found := shutil.which("uv")):
        return found
    if not own.exists():
        subprocess.run([str(python), *PIP, "-qq", "uv"], capture_output=True, check=False)  # noqa: S603  # pip of the environment
    return str(own) if own.exists() else None


PIP = ("-m", "pip", "install", "--disable-pip-version-check")


def read_pip_settings(python: Path) -> dict[str, list[str]]:
    """Return where pip is told to look for packages, by option."""
    command = [str(python), "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # pip of the environment
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        name = key.rpartition(".")[2]
        if name in HANDED_ON:
            known = found.setdefault(name, [])
            known += [each for each in value.strip("'\"").replace("\\n", " ").split() if each not in known]
    return found


def build_uv_options(settings: dict[str, list[str]]) -> list[str]:
    """Return uv's options for what pip is told; if that is nothing, uv finds the torch that suits this machine."""
    if not settings:
        return ["--torch-backend=auto"]
    given = [word for name, values in settings.items() for value in values for word in (f"--{name}", value)]
    return [*given, "--index-strategy=unsafe-best-match"]  # pip's own rule: the best version of any index


def install_by_uv(uv: str, python: Path, wanted: list[str]) -> bool:
    """Install by uv, with its progress on the screen; returns whether that went well."""
    options = build_uv_options(read_pip_settings(python))
    command = [uv, "pip", "install", "--python", str(python), "--link-mode=hardlink", *options, *wanted]
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", "UV_NO_CONFIG": "1"}
    errors = None if sys.stderr.isatty() else subprocess.PIPE  # a terminal gets uv's progress, a log only its end
    done = subprocess.run(command, stderr=errors, text=True, env=environment, check=False)  # noqa: S603  # uv itself
    if done.returncode:
        lines = (done.stderr or "").strip().splitlines()
        say(f"uv could not ({lines[-1].strip() if lines else 'see above'}): pip does it")
    return done.returncode == 0


def install_by_pip(python: Path, wanted: list[str]) -> None:
    """Install by pip; of its many lines only the name of the package that it is at is shown."""
    command = [str(python), *PIP, "--no-compile", "--progress-bar", "off", *wanted]
    last = deque[str](maxlen=20)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:  # noqa: S603  # pip
        assert pip.stdout is not None  # noqa: S101  # piped above
        for line in pip.stdout:
            last.append(line)
            if line.startswith(("Collecting ", "Installing collected")):
                show(line.split(" (")[0].split(":")[0].strip())
    show("")
    if pip.returncode:
        sys.exit("".join(last).strip() or f"pip ended with {pip.returncode}")


def show(text: str) -> None:
    """Show what is being done, on one line of a terminal that changes."""
    if sys.stdout.isatty():
        sys.stdout.write(f"\r\033[K{text[:78]}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
