"""What is shipped: a wheel with the dashboard inside, an sdist that makes the same wheel, one version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hybrid_scheduler import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOR_DEVELOPERS = {"bench", "dev"}


def build(source: Path, out: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    wanted = [part for target in targets for part in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *wanted, "-d", str(out)]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    done = build(ROOT, folder, "sdist", "wheel")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(shipped: Path) -> Path:
    return next(shipped.glob("*.whl"))


def metadata_of(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()


def test_the_wheel_holds_the_dashboard_and_nothing_of_the_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        page = archive.read("hybrid_scheduler/web/index.html").decode()
    assert set(re.findall(r'(?:src|href)="/(assets/[^"]+)"', page)) <= {
        name.removeprefix("hybrid_scheduler/web/") for name in names
    }
    assert {name.split("/")[0] for name in names} == {
        "hybrid_scheduler",
        f"hybrid_ml_scheduler-{__version__}.dist-info",
    }
    assert "hybrid_scheduler/storage/migrations/versions/r0001_first_tables.py" in names


def test_the_sdist_holds_what_the_guide_names(shipped: Path) -> None:
    with tarfile.open(next(shipped.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"requirements.txt", "constraints.txt", "main.py", "src/simulator.py", "src/dashboard_server.py"} <= names


def test_the_version_stands_in_one_place(wheel: Path) -> None:
    assert f"\nVersion: {__version__}\n" in metadata_of(wheel)
    assert "version" not in PROJECT["project"]


def test_a_wheel_from_the_sdist_is_the_same_to_the_last_byte(shipped: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(next(shipped.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    done = build(next(tmp_path.iterdir()), tmp_path / "again", "wheel")
    assert done.returncode == 0, done.stderr
    assert next((tmp_path / "again").glob("*.whl")).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_without_the_dashboard_nothing_is_built_and_the_way_to_it_is_told(target: str, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    package = tmp_path / "src" / "hybrid_scheduler"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f'__version__ = "{__version__}"\n', encoding="utf-8")
    done = build(tmp_path, tmp_path / "dist", target)
    assert done.returncode != 0
    assert done.stderr.strip().splitlines()[-1].startswith("src/hybrid_scheduler/web/index.html is missing: build it")
    assert not list(tmp_path.glob("dist/*"))


def test_all_means_every_extra_of_users(wheel: Path) -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for_users = set(extras) - FOR_DEVELOPERS - {"all"}
    assert for_users >= {"notebooks", "postgres", "ray", "redis", "xgboost"}
    assert extras["all"] == [f"hybrid-ml-scheduler[{','.join(sorted(for_users))}]"]
    assert {f"Provides-Extra: {name}" for name in for_users} <= set(metadata_of(wheel).splitlines())


@contextmanager
def installed(wheel: Path, folder: Path) -> Iterator[Path]:
    """Install the wheel alone into an environment that borrows its requirements from the one of the tests."""
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    # A plain line: the editable install of this tree, a file of the same kind over there, is not followed.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    options = ["--quiet", "--no-compile", "--no-deps", "--no-index", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "install", *options, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (site / "hybrid_scheduler" / "web" / "index.html").is_file()
    yield folder / "bin"


def test_an_installed_wheel_serves_the_dashboard_without_node(wheel: Path, tmp_path: Path) -> None:
    with installed(wheel, tmp_path / "venv") as programs:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV_"))}
        environment = kept | {"PATH": str(programs), "LOG_FILE": "none", "PYTHONUNBUFFERED": "1"}
        command = [str(programs / "hms"), "serve", "--port", "0", "--no-start"]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        with process:
            try:
                check_page(address_in(process), tmp_path)
            finally:
                process.terminate()


def address_in(process: subprocess.Popen[str]) -> str:
    seen = ""
    for line in process.stdout or ():
        seen += line
        if found := re.search(r"watch it at (\S+)", line):
            return found[1].replace("localhost", "127.0.0.1")
    raise AssertionError(seen)


def check_page(address: str, folder: Path) -> None:
    page = httpx.get(address)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    scripts = re.findall(r'src="(/assets/[^"]+\.js)"', page.text)
    assert scripts
    for script in scripts:
        found = httpx.get(address + script)
        assert (found.status_code, "javascript" in found.headers["content-type"]) == (200, True)
        assert len(found.content) > 1000
    health = httpx.get(f"{address}/api/health").json()
    assert (health["state"], health["version"]) == ("ok", __version__)
    assert (folder / "data" / "hms.db").is_file()
