"""A pipeline that is done in a few seconds, and phases that only count how often they are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.pipeline.config import Options
from hybrid_scheduler.pipeline.phases import Phase, PhaseContext, PhaseOutput

SMALL = """\
pipeline:
  profiling: {sizes: [16, 32], kernels: [matmul], brief: true, threads: 1}
  workload: {num_tasks: 200, test_tasks: 50}
  training: {n_estimators: 5, max_depth: 6}
  scheduling: {agent_tasks: 40}
  evaluation:
    schedulers: [round_robin, greedy, offline_forest, hybrid_ml, rl_agent]
    seeds: 2
    num_tasks: 60
    shift_seeds: 0
    figures: false
    report: none
"""


def write_small(folder: Path, **changes: str) -> Path:
    """Write a small config.yaml; `changes` replace a word by another."""
    text = SMALL
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


class Counted:
    """Five phases that write a line each, count how often they are done, and fail where they are told to."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.failing = ""
        self.failure: BaseException = KeyboardInterrupt()
        self.words: dict[str, str] = {}  # what a phase writes, if not its name

    @property
    def phases(self) -> tuple[Phase, ...]:
        sections = ("profiling", "workload", "training", "scheduling", "evaluation")
        return tuple(self._phase(number, sections) for number in range(5))

    def _phase(self, number: int, sections: tuple[str, ...]) -> Phase:
        name = sections[number]
        reads = (f"data/{sections[number - 1]}.txt",) if number else ()
        return Phase(name, name, (name,), (f"data/{name}.txt", f"data/{name}"), self._run(name), reads)

    def _run(self, name: str) -> Callable[[PhaseContext], PhaseOutput]:
        def run(context: PhaseContext) -> PhaseOutput:
            self.done[name] += 1
            context.output_path(f"data/{name}.txt").write_text(self.words.get(name, name), encoding="utf-8")
            if name == self.failing:
                raise self.failure
            return PhaseOutput({"words": self.words.get(name, name)})

        return run


def options(**sections: dict[str, object]) -> Options:
    """Return options with a few changes, section by section."""
    return Options.model_validate(sections)
