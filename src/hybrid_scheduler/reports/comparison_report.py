"""What stands below each figure of a report: how to read it, and the number to take away."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.reports import gallery, result_tables
from hybrid_scheduler.reports.document import Block, Bullets, Code, Document, Heading, Image, Pair, Paragraph, Table
from hybrid_scheduler.reports.figures.bars import height_of
from hybrid_scheduler.reports.figures.model_accuracy import quality
from hybrid_scheduler.reports.figures.pareto import front, points_of
from hybrid_scheduler.reports.figures.speed_up import baseline_of
from hybrid_scheduler.reports.figures.workload import share_of_largest
from hybrid_scheduler.reports.material import RunMaterial
from hybrid_scheduler.reports.numbers import count, quantity
from hybrid_scheduler.reports.style import figure_svg, label, new_figure, styled
from hybrid_scheduler.reports.text import bound_words, listed, named, policies, summary
from hybrid_scheduler.studies.compare import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIGHTED = "Hatched policies know the times, where tasks really run the learnt ones."
WHISKERS = "Whiskers are 95 % intervals."


def caption_of(name: str, material: RunMaterial) -> str:
    """Return the caption of a figure of a comparison; a plug-in's figure says its name."""
    result = material.result
    texts = {
        "makespan_over_bound": f"Makespan over {bound_words(result)}. {WHISKERS} {SIGHTED}",
        "time_over_best": f"Time of all tasks over that of the best splits. {WHISKERS} {SIGHTED}",
        "makespan": f"When the last task ended. {WHISKERS} {SIGHTED}",
        "differences": "How much longer each policy takes than the best, paired by seed. If an interval touches the "
        "dashed line, the difference is not clear.",
        "average_duration": f"Mean time from arrival to finish; the line begins where a task's own run time is, so "
        f"its length is waiting. {WHISKERS}",
        "speed_up": f"Makespan of {named(baseline_of(result))} divided by that of each policy, seed by seed.",
        "cost": "Price of the busy seconds: fast GPUs cost five times a CPU in the default cluster.",
        "energy": "Energy of the tasks and of idle devices.",
        "load_balance": "Mean busy time of the GPUs over that of the busiest one; 1 is even.",
        "utilisation": "Busy share of every device until the makespan, mean of the seeds.",
        "win_matrix": "On how many seeds the row was faster. Bold: the paired interval excludes 0.",
    }
    return texts.get(name) or _computed(name, material)


def _computed(name: str, material: RunMaterial) -> str:
    if name == "pareto":
        best = front(points_of(material.result))
        if len(best) == 1:
            return f"Energy against time. {named(best[0])} has the least of both."
        return f"Energy against time. Filled marks are on the front, where one buys the other: {listed(best)}."
    if name == "model_accuracy":
        learnt = count(material.forests[0].learnt_from, "other task")
        return f"A forest fitted on {learnt} of this workload, judged on others: {quality(material.forests)}."
    if name == "feature_importance":
        forests = count(len(material.forests), "forest")
        return f"What the forest looks at: {forests} of different seeds, importances add up to 100 %."
    return _replayed(name, material)


def _replayed(name: str, material: RunMaterial) -> str:
    one = material.replay
    part = "" if one.whole else f", first {count(len(one.tasks), 'task')}"
    seed = f"Seed {one.seed}{part}, {'as it was measured' if one.measured else 'run again'}."
    if name == "workload":
        tenth = share_of_largest(one.tasks.duration_estimate)
        return f"The tasks: the longest tenth of them holds {tenth:.0%} of the work. {seed}"
    texts = {
        "latency_cdf": "How many tasks had ended how long after they arrived: further left is sooner, a long flat "
        f"top is tasks stuck in queues. {seed}",
        "gpu_fraction": f"Which share of a task went to a GPU: at 0 it ran on the CPU, at 100 on a GPU. {seed}",
        "allocation": f"The mean GPU share, stretch by stretch: learners settle, rules stay. {seed}",
        "gantt": f"The first tasks on every device, best policy and worst. Hatched strips are shares of split "
        f"tasks. {seed}",
    }
    return texts.get(name, name.replace("_", " ").capitalize())


Progress = Callable[[int, int], None]
PAIRS = (("makespan", "speed_up"), ("energy", "cost"))
"""Figures set side by side."""
HALF, MOST_BARS, MOST_LETTERS = 3.2, 14, 14  # inches of one of them; more bars or longer names need the whole width
CROWDED = ("makespan_over_bound", "makespan", "load_balance", "utilisation", "gantt")
"""Figures of queues: where every device is always free they show nothing."""
LEARNERS = ("hybrid_ml",)


def build(material: RunMaterial, progress: Progress) -> Document:
    """Build the report of a comparison."""
    result = material.result
    source, first = result.comparison.source, result.outcomes[0]
    load = f" at load {source.load:g}" if source.load is not None else ""
    title = f"{Path(source.title).stem}{load}: {_who(result)}"
    subtitle = (
        f"{first.workload['num_tasks']:,} tasks a seed, {result.comparison.cluster.describe()}, "
        f"{result.comparison.mode}, {count(len(result.outcomes), 'seed')}. **{_how(material)}.**"
    )
    pictures, pairs = _pictures(material, progress)
    leading = _leading(result)
    blocks: list[Block] = [
        Heading("In short"),
        Bullets(summary(result)),
        *_results(result, pictures),
        *_wins_and_losses(material),
        Heading("Figures"),
        *_paired({name: image for name, image in pictures.items() if name not in leading}, pairs),
        *_setup(result),
        *threats(_threats(material), MEASURED if material.measured else SIMULATED),
        *_again(material),
    ]
    return Document(title, subtitle, tuple(blocks))


def _how(material: RunMaterial) -> str:
    return f"Measured on {', '.join(material.devices)}" if material.measured else "Simulated"


def _again(material: RunMaterial) -> list[Block]:
    if material.measured:
        return repeat(
            material.manifest, "hms report RUN", "writes this report again; another run will measure other times"
        )
    return repeat(material.manifest, "hms repeat RUN", "checks that every bit comes out the same")


def _who(result: Result) -> str:
    specs = result.comparison.schedulers
    return f"{policies(len(specs))} compared" if len(specs) > 1 else label(specs[0], 34)


def _leading(result: Result) -> tuple[str, str]:
    """Return the figures that stand beside the results; all others follow in their own section."""
    first = "makespan_over_bound" if result.score == "makespan_over_bound" else "time_over_best"
    return first, "differences"


def _pictures(material: RunMaterial, progress: Progress) -> tuple[dict[str, Image], list[tuple[str, str]]]:
    specs = material.result.comparison.schedulers
    found, names = {}, [each.name for each in gallery.suitable(material) if _wanted(each.name, material)]
    pairs = [pair for pair in PAIRS if set(pair) <= set(names) and _fits_half(specs)]
    for number, name in enumerate(names):
        progress(number, len(names))
        small = any(name in pair for pair in pairs)
        svg = figure_svg(gallery.draw(name, material, _half(len(specs)) if small else None))
        found[name] = Image(name, svg, caption_of(name, material))
    return found, pairs


@styled
def _half(bars: int) -> Axes:
    made: Axes = new_figure(height_of(bars), HALF).subplots()
    return made


def _fits_half(specs: tuple[str, ...]) -> bool:
    return len(specs) <= MOST_BARS and max(len(label(spec)) for spec in specs) <= MOST_LETTERS


def _paired(pictures: dict[str, Image], pairs: Sequence[tuple[str, str]]) -> list[Block]:
    """Put pictures that belong together side by side, where the first of them stands."""
    blocks: list[Block] = []
    partner = dict(pairs)
    for name, image in pictures.items():
        if name in partner:
            blocks.append(Pair(image, pictures[partner[name]]))
        elif name not in partner.values():
            blocks.append(image)
    return blocks


def _wanted(name: str, material: RunMaterial) -> bool:
    """Leave out what would say nothing: forests where none takes part, comparisons of one policy."""
    specs = material.result.comparison.schedulers
    if name in ("model_accuracy", "feature_importance"):
        return any(spec.partition(":")[0] in LEARNERS for spec in specs)
    isolated = material.result.comparison.mode == "isolated"
    if name in (*CROWDED, "time_over_best"):
        return isolated is (name == "time_over_best")
    if name in ("gpu_fraction", "allocation", "load_balance"):
        return bool(material.result.comparison.cluster.is_gpu.any())
    if name in ("differences", "win_matrix", "speed_up", "pareto"):
        return len(specs) > 1
    return True


def _results(result: Result, pictures: dict[str, Image]) -> list[Block]:
    tests = result_tables.tests(result)
    first, second = _leading(result)
    blocks: list[Block | None] = [
        Heading("Results"),
        result_tables.results(result),
        pictures.get(first),
        tests,
        pictures.get(second),
        result_tables.seed_by_seed(result),
    ]
    return [block for block in blocks if block is not None]


def _wins_and_losses(material: RunMaterial) -> list[Block]:
    result = material.result
    if len(result.comparison.schedulers) < 2:
        return []
    kinds = result_tables.by_kind(material.replay)
    return [
        Heading("Where each policy wins and loses"),
        Bullets(tuple(_standing(result, spec) for spec in result.ranking(result.score))),
        result_tables.ranks(result),
        *([kinds] if kinds else []),
    ]


def _standing(result: Result, spec: str) -> str:
    """Say in which measures a policy is first, and in which last."""
    names = result_tables.judged(result)
    places = {name: result_tables.places(result, name) for name in names}
    first = [name.replace("_", " ") for name in names if places[name][spec] == 1]
    last = [name.replace("_", " ") for name in names if 1 < places[name][spec] == max(places[name].values())]
    wins = f"first in {', '.join(first)}" if first else "first in no measure"
    return f"{named(spec)}: {wins}" + (f"; last in {', '.join(last)}." if last else ".")


def _setup(result: Result) -> list[Block]:
    comparison, shape = result.comparison, result.outcomes[0].workload
    bounds = [outcome.bound for outcome in result.outcomes]
    mean = sum(bound.makespan for bound in bounds) / len(bounds)
    prices = ", ".join(f"{name} {price:.3g}" for name, price in bounds[0].prices.items() if price)
    rate = shape["arrival_rate"]
    rows = (
        ("workload", f"`{comparison.source.title}`, {shape['num_tasks']:,} tasks a seed"),
        ("arrivals", "all at once" if rate == float("inf") else f"{rate:.3g} tasks/s{_load(result)}"),
        ("sizes", f"{shape['min_size']:.4g} to {shape['max_size']:.4g}, mean {shape['avg_size']:.4g}"),
        *([] if comparison.measured else [("mean base duration", quantity(shape["avg_duration"], "s"))]),
        ("race", _mode(comparison.mode)),
        ("seeds", ", ".join(map(str, comparison.seeds)) + "; every policy gets the same tasks"),
        (bound_words(result).removeprefix("the "),
         f"{quantity(mean, 's')} (mean); seed {result.outcomes[0].seed}: {bounds[0].kind}"
         + (f", prices {prices}" if prices else "")),
    )  # fmt: skip
    facts = Table("What was compared; shape of the first seed's tasks.", ("setting", "value"), rows, words=2)
    devices = [] if comparison.measured else [_devices(comparison.cluster)]  # its figures are not those of real ones
    return [Heading("Setup"), facts, *devices]


def _load(result: Result) -> str:
    load = result.comparison.source.load
    return f", offered load {load:g} (1 is all that the cluster can do at best)" if load is not None else ""


def _mode(mode: str) -> str:
    if mode == "isolated":
        return "isolated: every device is always free"
    return "queued: devices are first-come servers, tasks wait"


def _devices(cluster: Cluster) -> Table:
    rows = tuple(
        (
            f"`{each.name}`",
            str(number),
            f"{each.speed:g} ×",
            f"1 + {each.speedup_slope:g}·I",
            "unlimited" if each.memory == float("inf") else f"{each.memory:g} MB",
            "unlimited" if each.bandwidth == float("inf") else f"{each.bandwidth:g} MB/s",
            f"{each.watts:g} / {each.idle_watts:g} W",
            f"${each.dollars_per_second:.8f}".rstrip("0").rstrip(".") + "/s",
        )
        for each, number in zip(cluster.classes, cluster.counts.tolist(), strict=True)
    )
    head = ("class", "devices", "speed", "speed-up", "memory", "link", "busy / idle power", "price")
    return Table(f"The cluster: {cluster.describe()}; I is a task's compute intensity.", head, rows)


def _threats(material: RunMaterial) -> list[str]:
    result = material.result
    seeds, source = len(result.outcomes), result.comparison.source
    drawn = (
        "The tasks come from one file: seeds differ in the policies' own lots only, so intervals say nothing about "
        "other workloads."
        if source.is_file
        else "Tasks are drawn from one family of distributions; another workload may rank the policies otherwise."
    )
    isolated = (
        "Isolated race: no queues, so nothing here speaks of waiting, capacity or makespan under load."
        if result.comparison.mode == "isolated"
        else "Queued race: no preemption, no failures, transfer time inside the GPU share, no contention on links."
    )
    if result.comparison.measured:
        isolated = (
            "Policies ran one after another on the same devices; what else the machine did meanwhile is in the times."
        )
    return [text for text in (isolated, drawn, *_of_chance(seeds), _replay_note(material)) if text]


def _of_chance(seeds: int) -> list[str]:
    if seeds == 1:
        return ["One seed: no interval, no test."]
    few = f"{count(seeds, 'seed')}: bootstrap intervals of fewer than ten values are too narrow."
    many = "Tests are not corrected for their number: of twenty true ties one is expected to look clear."
    return [few, many] if seeds < 10 else [many]


def _replay_note(material: RunMaterial) -> str:
    one = material.replay
    if one.measured:
        return f"Figures of single tasks show seed {one.seed} as it was measured."
    if one.same:
        return f"Figures of single tasks run seed {one.seed} again; its makespans are the kept ones to the last bit."
    if not one.whole:
        return f"Figures of single tasks run the first {len(one.tasks):,} tasks of seed {one.seed} again."
    made = material.manifest["environment"]
    return (
        f"Figures of single tasks run seed {one.seed} again; its makespans **differ** from the kept ones, which were "
        f"made by version {material.manifest['version']} with NumPy {made.get('numpy')}, Numba {made.get('numba')}."
    )


SIMULATED = (
    "**Everything here is simulated.** Times follow the model (base k·N^1.5/(I + 0.5), speed-up 1 + slope·I, "
    "transfer M/bandwidth) or those given with the tasks or a hardware profile; no task ran on a GPU.",
    "The bound is proved for that model, not for a real machine.",
    "Decisions cost no simulated time; a policy that thinks long is not punished for it.",
)
MEASURED = (
    "**Times are measured**, by the clock of one machine; watts and prices, so energy and cost, are the model's.",
    "A device called emulated is a CPU that sleeps until it has been slow enough; it stands for no real accelerator.",
    "The bound is made of measured and learnt times: it is a yardstick, not a proof.",
)


def threats(own: list[str], always: tuple[str, ...] = SIMULATED) -> list[Block]:
    """Return the section on what the numbers do not say."""
    return [Heading("Threats to validity"), Bullets((*always, *own))]


def repeat(manifest: dict[str, Any], check: str, why: str) -> list[Block]:
    """Return the section on how to repeat the run: the command, versions, digests."""
    command = manifest.get("command")
    asked = shlex.join(map(str, command)) if isinstance(command, list) else "hms"
    made = manifest.get("environment", {})
    versions = ", ".join(f"{name} {value}" for name, value in made.items())
    files = tuple((f"`{name}`", f"`{digest}`") for name, digest in manifest["sha256"].items())
    return [
        Heading("How to repeat it"),
        Code(f"{asked}\n{check}"),
        Paragraph(f"The second line {why}; RUN is the folder of the first."),
        Paragraph(f"Made by version {manifest.get('version')}; {versions}."),
        Table("SHA-256 of what this report was made from.", ("file", "SHA-256"), files, words=2),
    ]
