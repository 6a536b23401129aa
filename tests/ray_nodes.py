"""A Ray cluster for tests: a head and further nodes as processes of this machine, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

RAY = Path(sys.executable).parent / "ray"
ENVIRONMENT = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
TIMEOUTS = {
    "RAY_agent_register_timeout_ms": "600000",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_gcs_server_request_timeout_seconds": "600",
    "RAY_py_gcs_connect_timeout_s": "600",
}
"""Ray's own limits on starting its processes, raised for busy machines; read by nodes and by this process."""
DEADLINE = 900.0  # seconds for a node to start


@dataclass
class RayCluster:
    """Nodes started by hand, each the leader of its own group of processes."""

    port: int
    folder: Path
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Make imports fast: Ray gives the agents of a node 15 s to start, however busy the machine is.

        They find compiled modules, and not the package `rfc3987_syntax`, which jsonschema, and so Ray, imports if it
        is installed: it builds a parser at every import, for four seconds of a free core.
        """
        absent = self.folder / "absent"
        absent.mkdir()
        (absent / "rfc3987_syntax.py").write_text("raise ImportError")
        self.environment = {
            **os.environ,
            **ENVIRONMENT,
            "PYTHONPATH": os.pathsep.join([str(absent), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.folder / "compiled"),
        }
        subprocess.run([sys.executable, "-c", "import ray.dashboard.agent"], env=self.environment, check=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def add(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a node and wait until it runs; on a busy machine Ray may give up, and is started again."""
        deadline = time.monotonic() + DEADLINE
        while True:
            log = self.folder / f"node{len(self.nodes)}.log"
            node = self._start(words, log)
            self.nodes.append(node)
            while node.poll() is None and "Ray runtime started" not in log.read_text(errors="replace"):
                assert time.monotonic() < deadline, log.read_text(errors="replace")
                time.sleep(0.05)
            if node.poll() is None:
                return node
            self.kill(node)
            text = log.read_text(errors="replace")
            assert "timed out" in text and time.monotonic() < deadline, text  # noqa: PT018  # one condition to retry

    def _start(self, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        options = ["--node-ip-address", "127.0.0.1", "--block", "--disable-usage-stats"]
        options += ["--object-store-memory", "80000000"]
        options += ["--include-log-monitor", "false"]
        with log.open("wb") as out:
            return subprocess.Popen(
                [RAY, "start", *words, *options],
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """Kill a node with everything that runs on it."""
        with suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    os.environ |= TIMEOUTS  # before Ray is imported
    folder = tmp_path_factory.mktemp("ray")
    port = 20_000 + os.getpid() % 20_000
    cluster = RayCluster(port, folder)
    try:
        cluster.add(
            "--head",
            *("--port", str(port), "--num-cpus", "2", "--num-gpus", "1"),
            "--no-monitor",
            *("--include-dashboard", "false", "--temp-dir", f"/tmp/hms-ray-{os.getpid()}"),  # noqa: S108  # Ray's sockets need a short path
        )
        yield cluster
    finally:
        import ray

        if ray.is_initialized():
            ray.shutdown()
        for node in reversed(cluster.nodes):
            cluster.kill(node)
        subprocess.run(["rm", "-rf", f"/tmp/hms-ray-{os.getpid()}"], check=False)  # noqa: S108  # made above
