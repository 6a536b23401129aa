"""Small files of instances, workflows and measured kernels, made here after the layouts of the real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_file(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def workflow() -> dict[str, Any]:
    """Return a workflow of four tasks, as WfFormat 1.5 has it: b and c wait for a, d for both."""
    plan = {
        "a": ([], "in", "ab ac"),
        "b": (["a"], "ab", "bd"),
        "c": (["a"], "ac in", "cd"),
        "d": (["b", "c"], "bd cd", ""),
    }
    runs = [
        {"id": "a", "runtimeInSeconds": 2.5, "avgCPU": 90.0, "memoryInBytes": 3_000_000, "machines": ["one"]},
        {"id": "b", "runtimeInSeconds": 1.0, "avgCPU": 250.0, "machines": ["one"]},
        {"id": "c", "runtimeInSeconds": 0, "machines": ["two"]},
        {"id": "d", "runtimeInSeconds": 4, "avgCPU": 12.5, "machines": ["two"]},
    ]
    return {
        "name": "diamond",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "id": name,
                        "name": name,
                        "parents": parents,
                        "children": [other for other in plan if name in plan[other][0]],
                        "inputFiles": read.split(),
                        "outputFiles": written_files.split(),
                    }
                    for name, (parents, read, written_files) in plan.items()
                ],
                "files": [
                    {"id": name, "sizeInBytes": size}
                    for name, size in {"in": 4_000_000, "ab": 500_000, "ac": 0, "bd": 1_000_000, "cd": 7}.items()
                ],
            },
            "execution": {
                "makespanInSeconds": 9.0,
                "tasks": runs,
                "machines": [{"nodeName": "one", "cpu": {"coreCount": 2}}, {"nodeName": "two"}],
            },
        },
    }


def wfcommons_file(folder: Path) -> list[Path]:
    """Write a workflow."""
    return [write_file(folder / "diamond.json", json.dumps(workflow(), indent=1))]


def etc_file(folder: Path) -> list[Path]:
    """Write three tasks on four machines, with a first line that tells so."""
    return [write_file(folder / "small.etc", "3 4\n1.0 2.5 3.0 4.0\n4.5 3.0 2.0 1.0\n2.0 inf 7.0 1e3\n")]


def kernels_file(folder: Path) -> list[Path]:
    """Write a table of kernels on a CPU and two GPUs."""
    content = (
        "suite,benchmark,dataset,comp,rational,mem,localmem,coalesced,atomic,transfer_bytes_amd,transfer_bytes_nvidia,"
        "wgsize_amd,wgsize_nvidia,runtime_cpu,runtime_gpu_amd,runtime_gpu_nvidia\n"
        "one,one-sort-pass,small,12,2,4,0,4,0,4096,8192,256,128,1.5,0.5,0.25\n"
        "one,one-sort-pass,large,12,2,4,0,4,0,400000000,400000000,256,128,900,80,75\n"
        "two,two-scan,default,0,0,0,1,0,0,0,0,64,64,0.125,0.5,0.5\n"
    )
    return [write_file(folder / "kernels.csv", content)]


STARPU = (
    "machine,codelet,device_type,device_id,ncores,impl,footprint_hash,size_bytes,flops,mean_us,dev_us,n_samples,derived\n"
    "left,gemm,cpu,0,1,0,aa,1200,2000.0,100.0,5.0,10,\n"
    "left,gemm,cuda,0,1,0,aa,1200,2000.0,10.0,1.0,10,\n"
    "left,gemm,cuda,1,1,0,aa,1200,2000.0,30.0,3.0,10,\n"
    "left,syrk,cpu,0,1,0,ab,800,1000.0,50.0,2.5,10,gemm:aa/2\n"
    "left,scal,cpu,0,1,0,ac,0,0.0,7.0,0.0,10,\n"
    "right,gemm,cpu,0,1,0,aa,1200,2000.0,200.0,5.0,10,\n"
    "right,gemm,cpu,0,4,0,aa,1200,2000.0,60.0,5.0,10,\n"
    "right,gemm,opencl,0,1,0,aa,1200,2000.0,20.0,5.0,10,\n"
    "far,gemm,cuda,0,1,0,aa,1200,2000.0,8.0,1.0,10,\n"
)


def starpu_file(folder: Path) -> list[Path]:
    """Write a table of StarPU's measurements with the cores, GPUs and links of one of its machines."""
    return [
        write_file(folder / "times.csv", STARPU),
        write_file(folder / "left.config", "# Configuration\n12 # Number of CPUs\n2 # Number of CUDA devices\n"),
        write_file(folder / "left.bandwidth", "# to 0\tto 1\n0.0\t6000.0\t5000.0\n6500.0\t0.0\t3000.0\n"),
    ]


REGRESSIONS = (
    "# sumlnx\tsumlnx2\t\tsumlny\t\tsumlnxlny\talpha\t\tbeta\t\tn\tminx\t\tmaxx\n"
    "0.000000e+00   \t0.000000e+00   \t0.000000e+00   \t0.000000e+00   \tnan            \tnan            \t0\t0\t0\n"
    "# a\t\tb\t\tc\nnan            \tnan            \tnan            \n# not multiple-regression-base\n0\n"
)


def write_model(path: Path, devices: list[tuple[int, int, int, list[list[str]]]]) -> Path:
    """Write a performance model as StarPU does: type, id, cores, and the entries of each implementation."""
    text = f"##################\n# Performance Model Version\n45\n\n####\n# COMBs\n# number\n{len(devices)}\n"
    for place, (kind, number, cores, implementations) in enumerate(devices):
        text += f"####\n# COMB_{place}\n# number of types devices\n1\n"
        for what, value in (("device type (CPU - 0, CUDA - 1)", kind), ("device id ", number), ("cores ", cores)):
            text += f"####\n# DEV_0\n# {what}\n{value}\n"
        text += f"##########\n# number of implementations\n{len(implementations)}\n"
        for entries in implementations:
            text += f"#####\n# Model for x\n# number of entries\n{len(entries)}\n{REGRESSIONS}# hash\t\tsize\n"
            text += "".join(f"{entry}\n" for entry in entries) + "\n"
    return write_file(path, text)


def starpu_model_files(folder: Path) -> list[Path]:
    """Write the models of two codelets on a machine with two GPUs, with its cores and links."""
    gemm = "24c84a50\t1200           \t2.000000e+03   \t{}   \t5.000000e+00   \t1.0e+03   \t1.0e+06   \t10"
    scal = "50d9324f\t25             \t0.000000e+00   \t7.000000e+00   \t0.0e+00   \t7.0e+01   \t4.9e+02   \t10"
    on_gpus = [(1, 0, 1, [[gemm.format("1.0e+01")]]), (1, 1, 1, [[gemm.format("3.0e+01")]])]
    several = (0, 0, 4, [[gemm.format("2.5e+01")]])
    return [
        write_model(
            folder / "chol_model_gemm.left-1", [(0, 0, 1, [[gemm.format("1.0e+02")], []]), *on_gpus, several]
        ),
        write_model(folder / "scal.left-1", [(0, 0, 1, [[scal]]), (2, 0, 1, [[scal]])]),
        write_file(folder / "left_1.config", "# Configuration\n12 # Number of CPUs\n2 # Number of CUDA devices\n"),
    ]


def gavel_file(folder: Path) -> list[Path]:
    """Write a trace of four jobs and a table of throughputs on two types of GPU."""
    small, large = "ResNet-18 (batch size 128)", "LM (batch size 80)"
    command = "python3 main.py --batch_size 128\tcifar10\t--num_steps\t1"
    jobs = [(small, 3000, 1, 0.0), (large, 500, 1, 12.5), (small, 100, 4, 20.0), ("A3C", 10, 1, 21.0)]
    lines = [f"{name}\t{command}\t{steps}\t{scale}\t1.0\t-1.0\t{time}\n" for name, steps, scale, time in jobs]
    rates = {
        "v100": {
            f"('{small}', 1)": {"null": 30.0, f"('{large}', 1)": [12.0, 3.0]},
            f"('{small}', 4)": {"null": 100.0},
            f"('{large}', 1)": {"null": 5.0},
        },
        "k80": {f"('{small}', 1)": {"null": 10.0}, f"('{large}', 1)": {"null": 0.0}},
        "v100_unconsolidated": {f"('{small}', 4)": {"null": 60.0}},
    }
    return [
        write_file(folder / "jobs.trace", "".join(lines)),
        write_file(folder / "throughputs.json", json.dumps(rates, indent=1)),
    ]


LU = "starpu_slu_lu_model_"
MICROSECONDS = {  # by codelet: tiles that it touches, on a core, on each of two GPUs
    "chol_model_potrf": (1, 40, (30, 30)),
    "chol_model_trsm": (2, 60, (20, 22)),
    "chol_model_syrk": (2, 50, (5, 5)),
    "chol_model_gemm": (3, 100, (10, 10)),
    f"{LU}getrf": (1, 90, (80, 80)),
    f"{LU}trsm_ll": (2, 60, (20, 20)),
    f"{LU}trsm_ru": (2, 61, (21, 21)),
    f"{LU}gemm": (3, 100, (12, 12)),
}


def starpu_folder(folder: Path) -> Path:
    """Write a folder as StarPU's figures are kept: one machine, tiles of 10 × 10, and copies of them at 5 × 5."""
    lines = [STARPU.split("\n")[0]]
    for codelet, (operands, core, gpus) in MICROSECONDS.items():
        for edge, derived in ((10, "gemm/2" if "syrk" in codelet else ""), (5, "a copy")):
            where = f"f{edge}{operands},{operands * edge**2 * 4},0"
            lines.append(f"box,{codelet},cpu,0,1,0,{where},{core},{core / 10},9,{derived}")
            lines += [f"box,{codelet},cuda,{n},1,0,{where},{gpu},1,9,{derived}" for n, gpu in enumerate(gpus)]
    lines.append("dark,chol_model_gemm,cuda,0,1,0,f,1200,0,7,1,9,")
    (folder / "starpu_kernel_times.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "bus").mkdir()
    (folder / "bus" / "box.config").write_text("# counts\n12 # CPUs\n2 # CUDA\n", encoding="utf-8")
    (folder / "bus" / "box.bandwidth").write_text("# MB/s\n0 6000 5000\n6000 0 1\n5000 1 0\n", encoding="utf-8")
    return folder
