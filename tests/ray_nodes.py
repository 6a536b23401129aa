"""A Ray cluster for tests: a head and further nodes as processes of this machine, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
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


@dataclass
class RayCluster:
    """Nodes started by hand, each the leader of its own group of processes."""

    port: int
    folder: Path
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def add(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a node and wait until it has said that it runs."""
        log = self.folder / f"node{len(self.nodes)}.log"
        with log.open("wb") as out:
            node = subprocess.Popen(
                [
                    RAY,
                    "start",
                    *words,
                    "--node-ip-address",
                    "127.0.0.1",
                    "--block",
                    "--disable-usage-stats",
                    "--object-store-memory",
                    "80000000",
                ],
                env={**os.environ, **ENVIRONMENT},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes.append(node)
        deadline = time.monotonic() + 60
        while "Ray runtime started" not in log.read_text(errors="replace"):
            assert node.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.05)
        return node

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """Kill a node with everything that runs on it, without a word."""
        with suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    folder = tmp_path_factory.mktemp("ray")
    port = 20_000 + os.getpid() % 20_000
    cluster = RayCluster(port, folder)
    try:
        cluster.add(
            "--head",
            *("--port", str(port), "--num-cpus", "2", "--num-gpus", "1"),
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
