"""What the project's guide claims, and the numbers for or against it."""

from __future__ import annotations

from docs.results.data import RunResults
from docs.results.plan import ONE_DEVICE, PRESETS
from docs.results.verdicts import Claim, Evidence
from hybrid_scheduler.core.metrics import Interval

ONLY_CPU, ONLY_GPU = ONE_DEVICE.split(",")
QUEUED = {**{preset: f"`{preset}`, load 0.9" for preset in PRESETS}, "overload": "`mixed`, load 2"}
FREE = "`mixed`, devices always free"
CALM = {0.2: "`long_tail`, load 0.2", 0.5: "`long_tail`, load 0.5"}
"""Places with short queues, where claims about makespans are checked too."""


def _ratio(where: str, run: str, pair: tuple[str, str], measure: str, x: float | None = None) -> Evidence:
    return Evidence(where, run, lambda run_results: run_results.ratio(*pair, measure, x))


def _time_saved(where: str, run: str, pair: tuple[str, str], measure: str, x: float | None = None) -> Evidence:
    """Return by which share the first of a pair is shorter than the second."""

    def compute(run_results: RunResults) -> Interval:
        each = run_results.ratio(*pair, measure, x)
        return Interval(1 - each.mean, 1 - each.high, 1 - each.low)

    return Evidence(where, run, compute)


def _value(where: str, run: str, series: str, measure: str, x: float | None = None) -> Evidence:
    return Evidence(where, run, lambda run_results: run_results.interval(series, measure, x))


def _time_saved_everywhere(ours: str, theirs: str) -> list[Evidence]:
    pair = (ours, theirs)
    queued = [_time_saved(where, run, pair, "makespan") for run, where in QUEUED.items()]
    calm = [_time_saved(where, "load", pair, "makespan_over_bound", x) for x, where in CALM.items()]
    return [*queued, *calm, _time_saved(FREE, "free_devices", pair, "total_time")]


def _speed_up(ours: str, theirs: str) -> list[Evidence]:
    pair = (theirs, ours)
    queued = [_ratio(where, run, pair, "makespan") for run, where in QUEUED.items()]
    calm = [_ratio(where, "load", pair, "makespan_over_bound", x) for x, where in CALM.items()]
    return [*queued, *calm, _ratio(FREE, "free_devices", pair, "total_time")]


def _balance(policy: str) -> list[Evidence]:
    return [_value(f"`{policy}`, {where}", run, policy, "load_balance") for run, where in QUEUED.items()]


def _near_oracle() -> list[Evidence]:
    pair = ("rl_agent", "oracle")
    ends = [_ratio(f"makespan, {where}", run, pair, "makespan") for run, where in QUEUED.items()]
    waits = [_ratio(f"mean turnaround, {where}", run, pair, "mean_turnaround") for run, where in QUEUED.items()]
    return [*ends, *waits, _ratio(f"total time, {FREE}", "free_devices", pair, "total_time")]


def _against_oracle() -> list[Evidence]:
    found = [
        _ratio(f"`{name}`, makespan, {where}", run, (name, "oracle"), "makespan")
        for name in ("hybrid_ml", "price")
        for run, where in (("overload", QUEUED["overload"]), ("long_tail", QUEUED["long_tail"]))
    ]
    return [*found, _ratio(f"`hybrid_ml`, total time, {FREE}", "free_devices", ("hybrid_ml", "oracle"), "total_time")]


def _cost_penalty() -> list[Evidence]:
    places = {"free_devices": "`mixed`", **{f"one_device_{kind}": f"`{kind}`" for kind in PRESETS[2:4]}}
    return [_ratio(where, run, (ONLY_GPU, ONLY_CPU), "cost") for run, where in places.items()]


def _warm_up(last: int) -> list[Evidence]:
    pair = ("from scratch", "pretrained")
    return [_ratio(f"tasks {last - 1999}–{last}", "learning", pair, "makespan_over_bound", last)]


def _energy_saved(run_results: RunResults) -> Interval:
    """Return energy at weight 1 over energy at weight 0, by their means; the interval is that of the numerator."""
    least, most = (run_results.interval("hybrid_ml", "energy", x) for x in (1.0, 0.0))
    return Interval(*(each / most.mean for each in (least.mean, least.low, least.high)))


CLAIMS: dict[Claim, list[Evidence]] = {
    Claim("`rl_agent` ends 15–20 % before `greedy` on mixed work (share of time saved)", 0.15, 0.20, as_percent=True):
        _time_saved_everywhere("rl_agent", "greedy"),
    Claim("`rl_agent` ends 15–20 % before `round_robin` on mixed work (share of time saved)", 0.15, 0.20,
          as_percent=True): _time_saved_everywhere("rl_agent", "round_robin"),
    Claim("After the work has changed, the agent is about 6 × as fast as a forest that no longer learns", 6.0):
        [_value(f"`{name}`", "shift", name, "static_over_this") for name in ("rl_agent", "hybrid_ml")],
    Claim("Speed by GPUs costs 5 × as much (cost of all tasks on GPUs over all on the CPU)", 5.0): _cost_penalty(),
    Claim("The forest predicts GPU shares with R² 0.78–0.82", 0.78, 0.82):
        [_value(f"{x:,} training tasks", "accuracy", "forest", "test_r2", x) for x in (1000, 3000, 10_000)],
    Claim("The mean error of predicted shares is at most 0.15", 0.15, 0.05, at_most=True):
        [_value(f"{x:,} training tasks", "accuracy", "forest", "mae", x) for x in (1000, 3000, 10_000)],
    Claim("On tasks it has seen the forest has R² of at least 0.95", 0.95):
        [_value(f"{x:,} training tasks", "models", "random_forest", "train_r2", x) for x in (1000, 3000)],
    Claim("XGBoost predicts better than the forest (ratio of mean errors at most 1)", 1.0, at_most=True):
        [_ratio(f"{x:,} training tasks", "models", ("xgboost", "random_forest"), "mae", x) for x in (1000, 3000)],
    Claim("The forest learns not to use GPUs below 200 MB (share of such tasks sent there, at most 5 %)", 0.05,
          at_most=True, as_percent=True):
        [_value(f"{x:,} training tasks", "models", "random_forest", "share_above_half_below_200_mb", x)
         for x in (1000, 3000)],
    Claim("Memory is the least important feature of the forest (importance 0.16, at most 0.33)", 0.33, at_most=True):
        [_value(f"{x:,} training tasks", "models", "random_forest", "memory_importance", x) for x in (1000, 3000)],
    Claim("The agent is expensive (its cost over that of the CPU alone, at least 2)", 2.0):
        [_ratio(FREE, "free_devices", ("rl_agent", ONLY_CPU), "cost")],
    Claim("The agent's curve of turnaround rises vertically, others slope (99th percentile over theirs, at most 0.5)",
          0.5, at_most=True):
        [_ratio(f"over `{other}`, {where}", run, ("rl_agent", other), "p99_turnaround")
         for other in ("round_robin", "greedy", "hybrid_ml") for run, where in QUEUED.items()],
    Claim("An energy weight of 1 sends work to the CPU (energy at most half of that at weight 0)", 0.5, at_most=True):
        [Evidence("`mixed`, load 0.7", "pareto", _energy_saved)],
    Claim("The learning scheduler (`hybrid_ml`) is 1.2–1.4 × as fast as `round_robin`", 1.2, 1.4):
        _speed_up("hybrid_ml", "round_robin"),
    Claim("The learning scheduler (`hybrid_ml`) is 1.05–1.15 × as fast as `greedy`", 1.05, 1.15):
        _speed_up("hybrid_ml", "greedy"),
    Claim("Load balance of the GPUs 0.90–0.95", 0.90, 0.95): [*_balance("hybrid_ml"), *_balance("rl_agent")],
    Claim("`rl_agent` is within 5 % of the oracle (ratio at most 1.05)", 1.05, at_most=True): _near_oracle(),
    Claim("1000 tasks warm the agent up (from scratch at most 1.05 × the makespan of a pretrained one)", 1.05,
          at_most=True): _warm_up(4000),
    Claim("(not in the guide) 4000 tasks warm the agent up, by the same measure", 1.05, at_most=True): _warm_up(6000),
    Claim("No policy beats the oracle (ratio at least 1)", 1.0): _against_oracle(),
}  # fmt: skip
"""The guide's sentences, each with all its evidence."""
