"""The report of a comparison: summary, results, figures, setup, threats to validity, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.formatting import format_count, format_quantity
from hybrid_scheduler.reports import gallery, result_tables
from hybrid_scheduler.reports.data import RunData
from hybrid_scheduler.reports.document import Block, Bullets, Code, Document, Heading, Image, Pair, Paragraph, Table
from hybrid_scheduler.reports.figures.bars import bars_height, find_baseline
from hybrid_scheduler.reports.figures.comparisons import collect_points, find_front
from hybrid_scheduler.reports.figures.learning import describe_accuracy
from hybrid_scheduler.reports.figures.placements import share_in_longest_tenth
from hybrid_scheduler.reports.style import apply_style, get_axes, label, render_svg
from hybrid_scheduler.reports.text import (
    bound_name,
    count_policies,
    describe_turnaround,
    join_names,
    quote_name,
    summarise,
)
from hybrid_scheduler.studies.compare import ANY, WHOLE, Progress, Result

PAIRS = (("makespan", "speed_up"), ("energy", "cost"))  # figures side by side
HALF_WIDTH, HALF_BARS, HALF_LETTERS = 3.2, 14, 14
"""Inches of a figure beside another; more bars or longer names need the whole width."""


def build(data: RunData, progress: Progress) -> Document:
    """Build the report of a comparison."""
    result = data.result
    source, first = result.comparison.source, result.outcomes[0]
    load = f" at load {source.load:g}" if source.load is not None else ""
    specs = result.comparison.schedulers
    policies = f"{count_policies(len(specs))} compared" if len(specs) > 1 else label(specs[0], 34)
    origin = f"Measured on {', '.join(data.devices)}" if data.measured else "Simulated"
    subtitle = (
        f"{first.workload['num_tasks']:,} tasks a seed, {result.comparison.cluster.describe()}, "
        f"{result.comparison.mode}, {format_count(len(result.outcomes), 'seed')}. **{origin}.**"
    )
    images, pairs = _draw_images(data, progress)
    # Two figures stand beside the results; all others follow in their own section.
    leading = "time_over_best" if result.score == "execution_over_best" else result.score
    scores, differences = images.pop(leading, None), images.pop("differences", None)
    turnarounds, front = images.pop("turnaround_over_bound", None), images.pop("certified_front", None)
    check = ("hms repeat RUN", "checks that every bit comes out the same")
    if data.measured:
        check = ("hms report RUN", "writes this report again; another run will measure other times")
    blocks: list[Block | None] = [
        Heading("In short"),
        Bullets(summarise(result)),
        Heading("Results"),
        result_tables.build_results(result),
        scores,
        result_tables.build_tests(result),
        differences,
        result_tables.build_seeds(result),
        *(_build_turnaround(result) if result.has_turnaround_bounds else ()),
        turnarounds,
        front,
        *_build_strengths(data),
        Heading("Figures"),
        *_pair_images(images, pairs),
        *_build_setup(result),
        *build_threats(_find_threats(data), MEASURED if data.measured else SIMULATED),
        *build_repetition(data.manifest, *check),
    ]
    title = f"{Path(source.title).stem}{load}: {policies}"
    return Document(title, subtitle, tuple(block for block in blocks if block is not None))


def _draw_images(data: RunData, progress: Progress) -> tuple[dict[str, Image], list[tuple[str, str]]]:
    specs = data.result.comparison.schedulers
    figures = [each for each in gallery.list_suitable(data) if gallery.IN_REPORT[each.in_report](data.result)]
    names = {each.name for each in figures}
    fits_half = len(specs) <= HALF_BARS and max(len(label(spec)) for spec in specs) <= HALF_LETTERS
    pairs = [pair for pair in PAIRS if set(pair) <= names and fits_half]
    images = {}
    for number, each in enumerate(figures):
        progress(number, len(figures))
        is_half = any(each.name in pair for pair in pairs)
        axes = apply_style(get_axes)(None, bars_height(len(specs)), HALF_WIDTH) if is_half else None
        ax = gallery.draw(each.name, data, axes)
        images[each.name] = Image(each.name, render_svg(ax), format_caption(each, data))
    return images, pairs


def format_caption(figure: gallery.FigureEntry, data: RunData) -> str:
    """Return a figure's caption with its fields filled in."""
    caption = figure.caption or figure.sentence
    names = [name for _, name, _, _ in Formatter().parse(caption) if name]
    return caption.format_map({name: FIELDS[name](data) for name in names})


def _describe_seed(data: RunData) -> str:
    replay = data.replay
    part = "" if replay.whole else f", first {format_count(len(replay.tasks), 'task')}"
    return f"Seed {replay.seed}{part}, {'as it was measured' if replay.measured else 'run again'}."


def _describe_front(data: RunData) -> str:
    front = find_front(collect_points(data.result))
    if len(front) == 1:
        return f"{quote_name(front[0])} has the least of both."
    return f"Filled marks are on the front, where one buys the other: {join_names(front)}."


FIELDS: dict[str, Callable[[RunData], str]] = {
    "bound": lambda data: bound_name(data.result),
    "baseline": lambda data: quote_name(find_baseline(data.result)),
    "seed": _describe_seed,
    "front": _describe_front,
    "time": lambda data: data.result.time.replace("_", " ").capitalize(),
    "longest_tenth": lambda data: f"{share_in_longest_tenth(data.replay.tasks.duration_estimate):.0%}",
    "training_tasks": lambda data: format_count(data.forests[0].training_tasks, "other task"),
    "accuracy": lambda data: describe_accuracy(data.forests),
    "forests": lambda data: format_count(len(data.forests), "forest"),
}
"""What captions may name in braces."""


def _pair_images(images: dict[str, Image], pairs: Sequence[tuple[str, str]]) -> list[Block]:
    """Put images that belong together side by side, where the first of them stands."""
    blocks: list[Block] = []
    partner = dict(pairs)
    for name, image in images.items():
        if name in partner:
            blocks.append(Pair(image, images[partner[name]]))
        elif name not in partner.values():
            blocks.append(image)
    return blocks


def _build_turnaround(result: Result) -> list[Block]:
    return [Heading("How short turnaround can be"), Paragraph(" ".join(describe_turnaround(result)))]


def _build_strengths(data: RunData) -> list[Block | None]:
    """Build the section on the measures in which each policy is first, and those in which it is last."""
    result = data.result
    if len(result.comparison.schedulers) < 2:
        return []
    ranks, lines = result_tables.rank_all(result), []
    for spec in result.ranking(result.score):
        first = [name.replace("_", " ") for name, places in ranks.items() if places[spec] == 1]
        last = [name.replace("_", " ") for name, places in ranks.items() if 1 < places[spec] == max(places.values())]
        wins = f"first in {', '.join(first)}" if first else "first in no measure"
        lines.append(f"{quote_name(spec)}: {wins}" + (f"; last in {', '.join(last)}." if last else "."))
    return [
        Heading("Where each policy wins and loses"),
        Bullets(tuple(lines)),
        result_tables.build_ranks(result, ranks),
        result_tables.build_kinds(data.replay),
    ]


def _build_setup(result: Result) -> list[Block]:
    comparison, workload = result.comparison, result.outcomes[0].workload
    bounds = [outcome.bound for outcome in result.outcomes]
    mean = sum(bound.makespan for bound in bounds) / len(bounds)
    prices = ", ".join(f"{name} {price:.3g}" for name, price in bounds[0].prices.items() if price)
    rate, load = workload["arrival_rate"], comparison.source.load
    offered = f", offered load {load:g} (1 is all that the cluster can do at best)" if load is not None else ""
    is_isolated = comparison.mode == "isolated"
    rows = (
        ("workload", f"`{comparison.source.title}`, {workload['num_tasks']:,} tasks a seed"),
        ("arrivals", "all at once" if rate == float("inf") else f"{rate:.3g} tasks/s{offered}"),
        ("sizes", f"{workload['min_size']:.4g} to {workload['max_size']:.4g}, mean {workload['avg_size']:.4g}"),
        *([] if comparison.measured else [("mean base duration", format_quantity(workload["avg_duration"], "s"))]),
        ("race", "isolated: every device is always free" if is_isolated
         else "queued: tasks wait for devices"),
        ("seeds", ", ".join(map(str, comparison.seeds)) + "; every policy gets the same tasks"),
        (bound_name(result).removeprefix("the "),
         f"{format_quantity(mean, 's')} (mean); seed {result.outcomes[0].seed}: {bounds[0].kind}"
         + (f", prices {prices}" if prices else "")),
        *(_list_turnaround_bounds(result) if result.has_turnaround_bounds else ()),
    )  # fmt: skip
    facts = Table("What was compared; shape of the first seed's tasks.", ("setting", "value"), rows, text_columns=2)
    # The model's speeds and links say nothing about the devices of a measured run.
    return [Heading("Setup"), facts, *([] if comparison.measured else [_build_cluster_table(comparison.cluster)])]


def _list_turnaround_bounds(result: Result) -> list[tuple[str, str]]:
    first = result.outcomes[0]
    return [
        (
            f"bound of mean turnaround, {covered}",
            f"{format_quantity(result.turnaround_bound(covered), 's')} (mean); seed {first.seed}: "
            f"{first.turnaround_bounds[covered].kind}",
        )
        for covered in (WHOLE, ANY)
        if covered in first.turnaround_bounds
    ]


def _build_cluster_table(cluster: Cluster) -> Table:
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


def _find_threats(data: RunData) -> list[str]:
    comparison = data.result.comparison
    if comparison.measured:
        race = (
            "Policies ran one after another on the same devices; what else the machine did meanwhile is in the times."
        )
    elif comparison.mode == "isolated":
        race = "Isolated race: no queues, so nothing here speaks of waiting, capacity or makespan under load."
    else:
        race = "Queued race: no preemption, no failures, transfer time inside the GPU share, no contention on links."
    workload = "Tasks are drawn from one family of distributions; another workload may rank the policies otherwise."
    if comparison.source.is_file:
        workload = (
            "The tasks come from one file: seeds differ in the policies' own random choices only, so intervals say "
            "nothing about other workloads."
        )
    seeds = len(data.result.outcomes)
    chance = ["Tests are not corrected for their number: of twenty true ties one is expected to look clear."]
    if seeds == 1:
        chance = ["One seed: no interval, no test."]
    elif seeds < 10:
        chance.insert(0, f"{seeds} seeds: bootstrap intervals of fewer than ten values are too narrow.")
    return [race, workload, *chance, _describe_replay(data)]


def _describe_replay(data: RunData) -> str:
    replay = data.replay
    if replay.measured:
        return f"Figures of single tasks show seed {replay.seed} as it was measured."
    if not replay.whole:
        return f"Figures of single tasks run the first {len(replay.tasks):,} tasks of seed {replay.seed} again."
    again = f"Figures of single tasks run seed {replay.seed} again; its makespans"
    if replay.same:
        return f"{again} are bit-identical to the kept ones."
    versions = data.manifest["environment"]
    return (
        f"{again} **differ** from the kept ones, which were made by version {data.manifest['version']} with "
        f"NumPy {versions.get('numpy')}, Numba {versions.get('numba')}."
    )


SIMULATED = (
    "**Everything here is simulated.** Times follow the model (base k·N^1.5/(I + 0.5), speed-up 1 + slope·I, "
    "transfer M/bandwidth) or those given with the tasks or a hardware profile; no task ran on a GPU.",
    "Bounds are proved for that model, not for a real machine.",
    "Decisions cost no simulated time; a slow policy is not penalised.",
)
MEASURED = (
    "**Times are measured**, by the clock of one machine; watts and prices, so energy and cost, are the model's.",
    "A device called emulated is a CPU that sleeps until it has been slow enough; it stands for no real accelerator.",
    "The bound is made of measured and learnt times: it is a yardstick, not a proof.",
)


def build_threats(own: list[str], always: tuple[str, ...] = SIMULATED) -> list[Block]:
    """Build the section on what the numbers do not show."""
    return [Heading("Threats to validity"), Bullets((*always, *own))]


def build_repetition(manifest: dict[str, Any], check: str, effect: str) -> list[Block]:
    """Build the section on how to repeat the run: its command, a second one and its effect, versions, digests."""
    words = manifest.get("command")
    command = shlex.join(map(str, words)) if isinstance(words, list) else "hms"
    versions = ", ".join(f"{name} {value}" for name, value in manifest.get("environment", {}).items())
    files = tuple((f"`{name}`", f"`{digest}`") for name, digest in manifest["sha256"].items())
    return [
        Heading("How to repeat it"),
        Code(f"{command}\n{check}"),
        Paragraph(f"The second line {effect}; RUN is the folder of the first."),
        Paragraph(f"Made by version {manifest.get('version')}; {versions}."),
        Table("SHA-256 of what this report was made from.", ("file", "SHA-256"), files, text_columns=2),
    ]
