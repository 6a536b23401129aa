"""Large files of every format whose rows are counted, drawn by lot and laid out as the real ones are."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.workload import mixed
from hybrid_scheduler.workloads.formats import csv, parquet

MACHINES = 16
MODELS = [f"ResNet-{number} (batch size {2 ** (number % 8)})" for number in range(26)]


def written(name: str, folder: Path, rows: int) -> list[Path]:
    """Write the files of a format; the one with the rows comes first."""
    return WRITERS[name](folder, rows)


def _csv(folder: Path, rows: int) -> list[Path]:
    csv.write(mixed(rows), folder / "tasks.csv")
    return [folder / "tasks.csv"]


def _csv_gz(folder: Path, rows: int) -> list[Path]:
    csv.write(mixed(rows), folder / "tasks.csv.gz")
    return [folder / "tasks.csv.gz"]


def _parquet(folder: Path, rows: int) -> list[Path]:
    parquet.write(mixed(rows), folder / "tasks.parquet")
    return [folder / "tasks.parquet"]


def _log(folder: Path, rows: int) -> list[Path]:
    random = np.random.default_rng(1)
    submit, run = np.cumsum(random.integers(0, 60, rows)), random.integers(1, 90_000, rows)
    jobs = zip(submit.tolist(), run.tolist(), random.integers(1, 512, rows).tolist(), strict=True)
    with (folder / "log.swf").open("w", encoding="utf-8") as file:
        file.write("; MaxProcs: 512\n; MaxNodes: 128\n")
        file.writelines(
            f"{job:7d} {start:8d}   10 {seconds:6d} {procs:4d} {seconds:6d} 1024 {procs:4d} {2 * seconds:6d} -1"
            "  1  12   3   5  1 -1 -1 -1\n"
            for job, (start, seconds, procs) in enumerate(jobs, 1)
        )
    return [folder / "log.swf"]


def _log_gz(folder: Path, rows: int) -> list[Path]:
    packed = folder / "log.swf.gz"
    packed.write_bytes(gzip.compress(_log(folder, rows)[0].read_bytes(), 6))
    return [packed]


def _table(folder: Path, name: str, columns: Mapping[str, object]) -> list[Path]:
    pd.DataFrame(columns).to_csv(folder / name, index=False)
    return [folder / name]


def _requests(folder: Path, rows: int) -> list[Path]:
    random = np.random.default_rng(1)
    columns = {
        "app": random.integers(0, 100, rows),
        "end_timestamp": 10.0 + np.cumsum(random.exponential(0.1, rows)),
        "duration": random.exponential(1.0, rows) + 1e-3,
    }
    return _table(folder, "requests.csv", columns)


def _pods(folder: Path, rows: int) -> list[Path]:
    random = np.random.default_rng(1)
    begin, gpus = np.cumsum(random.integers(0, 60, rows)), random.integers(0, 2, rows)
    columns = {
        "name": [f"openb-pod-{number:04d}" for number in range(rows)],
        "cpu_milli": 1000 * random.integers(1, 64, rows),
        "memory_mib": 1024 * random.integers(1, 64, rows),
        "num_gpu": gpus,
        "gpu_milli": gpus * 100 * random.integers(1, 11, rows),
        "gpu_spec": np.where(random.random(rows) < 0.3, "V100|T4", ""),
        **{"qos": "LS", "pod_phase": "Running", "creation_time": begin},
        "deletion_time": begin + random.integers(10, 90_000, rows),
        "scheduled_time": begin + 5,
    }
    return _table(folder, "pods.csv", columns)


def _jobs(folder: Path, rows: int) -> list[Path]:
    random = np.random.default_rng(1)
    moments = pd.to_datetime(1_506_988_800 + np.cumsum(random.integers(0, 60, rows)), unit="s")
    columns = {
        **{"jobid": np.arange(rows), "vc": "abc", "user": "u1", "status": "Pass"},
        "submitted_time": moments.strftime("%Y-%m-%d %H:%M:%S"),
        **{"duration": random.integers(1, 90_000, rows), "num_gpus": 1},
    }
    return _table(folder, "jobs.csv", columns)


def _kernels(folder: Path, rows: int) -> list[Path]:
    random = np.random.default_rng(1)
    columns = {
        **{"suite": "one", "benchmark": [f"one-sort-{row % 300}" for row in range(rows)], "dataset": "small"},
        **{name: random.integers(1, 100, rows) for name in ("comp", "rational", "mem", "localmem", "coalesced")},
        "atomic": 0,
        **{f"transfer_bytes_{name}": random.integers(1, 1 << 28, rows) for name in ("amd", "nvidia")},
        **{"wgsize_amd": 256, "wgsize_nvidia": 128},
        **{f"runtime_{name}": 0.1 + random.exponential(9.0, rows) for name in ("cpu", "gpu_amd", "gpu_nvidia")},
    }
    return _table(folder, "kernels.csv", columns)


def _trace(folder: Path, rows: int) -> list[Path]:
    random = np.random.default_rng(1)
    kinds, steps = random.integers(0, len(MODELS), rows), random.integers(1, 90_000, rows)
    arrivals = np.cumsum(random.exponential(5.0, rows))
    command = "python3 main.py --data_dir=%s/cifar10 --batch_size 128\tcifar10\t--num_steps\t1"
    with (folder / "jobs.trace").open("w", encoding="utf-8") as file:
        file.writelines(
            f"{MODELS[kind]}\t{command}\t{count}\t1\t1.0\t-1.0\t{moment}\n"
            for kind, count, moment in zip(kinds.tolist(), steps.tolist(), arrivals.tolist(), strict=True)
        )
    rates = {gpu: {f"('{name}', 1)": {"null": 2.0} for name in MODELS} for gpu in ("v100", "p100", "k80")}
    (folder / "rates.json").write_text(json.dumps(rates), encoding="utf-8")
    return [folder / "jobs.trace", folder / "rates.json"]


def _matrix(folder: Path, rows: int) -> list[Path]:
    times = np.random.default_rng(1).uniform(1.0, 1e5, (rows, MACHINES))
    np.savetxt(folder / "rows.etc", times, fmt="%.4f", header=f"{rows} {MACHINES}", comments="")
    return [folder / "rows.etc"]


def _starpu(folder: Path, rows: int) -> list[Path]:
    random, number = np.random.default_rng(1), np.arange(rows)
    columns = {
        "machine": np.array(["attila", "idgraf", "mirage"])[number % 3],
        "codelet": np.array([f"gemm_{code}" for code in range(7)])[number // 6 % 7],
        "device_type": np.where(number % 2, "cuda", "cpu"),
        **{"device_id": 0, "ncores": 1, "impl": 0, "footprint_hash": [f"{row // 6:08x}" for row in range(rows)]},
        **{"size_bytes": 4096 * (1 + number // 6), "flops": 2000.0, "mean_us": 1 + random.exponential(99.0, rows)},
        **{"dev_us": random.exponential(5.0, rows), "n_samples": 10, "derived": ""},
    }
    return _table(folder, "times.csv", columns)


def _pairs(folder: Path, rows: int) -> list[Path]:
    random, number = np.random.default_rng(1), np.arange(rows)
    columns = {
        "machine": np.array(["attila", "idgraf", "mirage"])[number % 3],
        "codelet": np.array([f"gemm_{code}" for code in range(7)])[number // 3 % 7],
        "footprint_hash": [f"{row // 3:08x}" for row in range(rows)],
        **{"size_bytes": 4096 * (1 + number // 3), "flops": 2000.0},
        **{"cpu_us": 1 + random.exponential(99.0, rows), "cpu_dev_us": 1.0, "n_cpu": 10},
        **{"gpu_us": 1 + random.exponential(9.0, rows), "gpu_dev_us": 1.0, "n_gpu": 10},
    }
    return _table(folder, "pairs.csv", columns)


def _workflow(folder: Path, rows: int) -> list[Path]:
    """Write a binary tree of tasks, each of which hands on one file."""
    names = [f"individuals_ID{row:07d}" for row in range(rows)]
    plan = [
        {
            **{"name": name, "id": name, "children": names[2 * row + 1 : 2 * row + 3]},
            "inputFiles": [f"chr{(row - 1) // 2}n.tar.gz"] if row else [],
            "outputFiles": [f"chr{row}n.tar.gz"],
            "parents": [names[(row - 1) // 2]] if row else [],
        }
        for row, name in enumerate(names)
    ]
    runs = [
        {
            **{"id": name, "runtimeInSeconds": 1 + row % 77 / 7},
            "command": {"program": "individuals", "arguments": ["ALL.chr1.250000.vcf", "1", "5001", "6001"]},
            **{"avgCPU": 90.5, "memoryInBytes": 3_000_000 + row, "machines": ["pegasus-3"]},
        }
        for row, name in enumerate(names)
    ]
    files = [{"id": f"chr{row}n.tar.gz", "sizeInBytes": 1000 + row} for row in range(rows)]
    machines = [{"nodeName": "pegasus-3", "cpu": {"coreCount": 48}}]
    document = {
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": plan, "files": files},
            "execution": {"tasks": runs, "machines": machines},
        },
    }
    with (folder / "workflow.json").open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=4)
    return [folder / "workflow.json"]


WRITERS: dict[str, Callable[[Path, int], list[Path]]] = {
    "csv": _csv,
    "csv_gz": _csv_gz,
    "parquet": _parquet,
    "swf": _log,
    "swf_gz": _log_gz,
    "alibaba": _pods,
    "philly": _jobs,
    "requests": _requests,
    "kernels": _kernels,
    "gavel": _trace,
    "etc": _matrix,
    "starpu": _starpu,
    "starpu_pairs": _pairs,
    "wfcommons": _workflow,
}
"""By the name of the row in the table of benchmarks."""
