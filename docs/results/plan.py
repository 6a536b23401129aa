"""What RESULTS.md is made from: the commands, in the order in which they run."""

from __future__ import annotations

from dataclasses import dataclass

SEEDS = 10
RACERS = "round_robin,random,greedy,hybrid_ml,rl_agent,oracle,eft,price"
BATCH = "search,optimal,min_min,max_min,sufferage,price,eft,heft,hybrid_ml,greedy,random,round_robin"
GRAPH = "heft,peft,cpop,eft,greedy,hybrid_ml,rl_agent"
MANY = "eft,min_min,price,greedy,random,round_robin"
DATA = "DATA/"
"""In a command: the folder of third-party files, named by `HMS_DATA`."""
ONE_DEVICE = "examples/one_device.py:only_cpu,examples/one_device.py:only_gpu"


@dataclass(frozen=True)
class Run:
    """One command of hms, run once for every seed."""

    name: str
    arguments: str  # the command without hms, its seeds and its folder
    seeds: int = SEEDS

    @property
    def needs_data(self) -> bool:
        """Whether the command reads third-party files, which the project does not ship."""
        return DATA in self.arguments

    def command(self, seeds: str = "", folder: str = "DIR") -> list[str]:
        """Return the command for some seeds, all of them by default, and a folder."""
        return ["hms", *self.arguments.split(), "--seeds", seeds or str(self.seeds), "--out", folder]


PRESETS = ("mixed", "long_tail", "gpu_friendly", "cpu_friendly", "bursty")
PLAN: tuple[Run, ...] = (
    *(Run(preset, f"compare {preset}") for preset in PRESETS),
    Run("overload", "compare mixed --load 2"),
    Run("free_devices", f"compare mixed --mode isolated --schedulers {RACERS},{ONE_DEVICE}"),
    *(
        Run(f"one_device_{kind}", f"compare {kind} --mode isolated --schedulers {ONE_DEVICE}")
        for kind in PRESETS[2:4]
    ),
    Run("turnaround", "experiment turnaround"),
    Run("shift", "experiment shift"),
    Run("pareto", "experiment pareto"),
    Run("accuracy", "experiment accuracy"),
    Run("models", "experiment models"),
    Run("isolated", "experiment isolated"),
    Run("capacity", "capacity mixed"),
    Run("load", "experiment load"),
    Run("heavy", "experiment heavy"),
    Run("learning", "experiment learning"),
    Run("zero_shot", "experiment zero_shot"),
    Run("zero_shot_real", "experiment zero_shot_real --data DATA/"),
    Run("adversary", "experiment adversary"),
    Run("robustness", "experiment robustness"),
    Run("unfamiliar", "experiment unfamiliar --data DATA/"),
    Run("kernels", "experiment kernels --data DATA/"),
    Run("cholesky", "experiment cholesky --data DATA/"),
    Run("opencl", "bench-suite DATA/opencl_cpu_gpu_cgo17 --best opencl_cpu_gpu_times=23.291398"),
    Run("braun", f"bench-suite DATA/braun_etc --schedulers {BATCH}"),
    Run("pegasus", f"bench-suite DATA/wf_pegasus_makeflow --schedulers {GRAPH}"),
    Run(
        "pegasus_small",
        f"bench-suite DATA/wf_pegasus_makeflow --cluster examples/four_small_nodes.yaml --schedulers {GRAPH}",
    ),
    Run("alibaba", f"bench-suite DATA/alibaba_gpu_v2023 --schedulers {MANY}"),
)
