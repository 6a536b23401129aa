"""Walks the five phases: finished ones are left alone, those whose inputs have changed are done again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.pipeline.config import Options, flat
from hybrid_scheduler.pipeline.evaluate import EVALUATING
from hybrid_scheduler.pipeline.phases import DRAWING, FITTING, PROFILING, SCHEDULING, Found, Phase, Work
from hybrid_scheduler.pipeline.workspace import Inputs, Record, Workspace, digests

PHASES = (PROFILING, DRAWING, FITTING, SCHEDULING, EVALUATING)


class Watcher(Protocol):
    """Who follows a pipeline at work."""

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        """Tell that a phase begins, and why it is done again if it was done before."""

    def step(self, done: int, total: int) -> None:
        """Tell how far the phase is."""

    def kept(self, lines: list[str]) -> None:
        """Tell where results of before are now."""

    def end(self, number: int, phase: Phase, record: Record, fresh: bool) -> None:
        """Tell that a phase is done: now (`fresh`), or before."""


class Silence:
    """A watcher that says nothing."""

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        """Say nothing."""

    def step(self, done: int, total: int) -> None:
        """Say nothing."""

    def kept(self, lines: list[str]) -> None:
        """Say nothing."""

    def end(self, number: int, phase: Phase, record: Record, fresh: bool) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Plan:
    """What is asked of a run."""

    options: Options
    root: Path = Path()
    start: str = ""  # phase from which on everything is done again
    force: bool = False  # replace results of before instead of keeping them


def run(plan: Plan, watcher: Watcher | None = None, phases: tuple[Phase, ...] = PHASES) -> list[Record]:
    """Bring every phase up to date and return their records."""
    first = _number_of(plan.start, phases) if plan.start else len(phases)
    space, watch, records = Workspace(plan.root), watcher or Silence(), []
    with space.alone():
        for phase in phases:
            space.record(phase.name)  # a record that cannot be trusted is told before any work
        for number, phase in enumerate(phases):
            asked = "asked for by --from" if number >= first else ""
            records.append(_up_to_date(plan, space, phase, number, asked, watch))
    return records


def _number_of(start: str, phases: tuple[Phase, ...]) -> int:
    names = [phase.name for phase in phases]
    if start.isdecimal() and 1 <= int(start) <= len(names):
        return int(start) - 1
    if start not in names:
        raise unknown_name("phase", start, names, f"or a number from 1 to {len(names)}")
    return names.index(start)


def _up_to_date(plan: Plan, space: Workspace, phase: Phase, number: int, asked: str, watch: Watcher) -> Record:
    inputs = inputs_of(plan, phase)
    before = space.record(phase.name)
    reason = asked or _stale(plan.root, phase, inputs, before)
    if before and not reason:
        watch.end(number, phase, before, False)
        return before
    watch.begin(number, phase, reason if before else "")
    record = _done(plan, space, phase, inputs, watch)
    watch.end(number, phase, record, True)
    return record


def _stale(root: Path, phase: Phase, inputs: Inputs, before: Record | None) -> str:
    """Say why a phase must be done again; a result that somebody else has changed is an error."""
    if before is None:
        return "it was not done yet"
    now = digests(root, tuple(before.outputs))
    for place, digest in before.outputs.items():
        if place in now and now[place] != digest:
            raise InputError(
                f"{root / place} is torn or not the file that phase '{phase.name}' wrote (its SHA-256 differs): "
                f"restore it, or do the phase again with --from {phase.name}"
            )
    missing = [place for place in before.outputs if place not in now]
    return f"{missing[0]} is missing" if missing else inputs.differs(before.inputs)


def _done(plan: Plan, space: Workspace, phase: Phase, inputs: Inputs, watch: Watcher) -> Record:
    begin = time.perf_counter()
    with space.scratch(phase.name) as made:
        found = _worked(phase, Work(plan.options, plan.root, made, watch.step))
        outputs = digests(made, phase.places)
        watch.kept(space.publish(phase.name, made, phase.places, plan.force))
    seconds = {"seconds": time.perf_counter() - begin}
    record = Record(phase.name, inputs, outputs, found.facts, {**found.measured, **seconds})
    record.write(space.record_path(phase.name))
    return record


def _worked(phase: Phase, work: Work) -> Found:
    try:
        return phase.run(work)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise InputError(
            f"phase '{phase.name}' cannot read or write{where} ({error.strerror or error}): check rights and space"
        ) from None


def inputs_of(plan: Plan, phase: Phase) -> Inputs:
    """Return what the results of a phase follow from, as things stand."""
    options = plan.options
    chosen = {name: _plain(value) for name, value in flat(options) if _counts(name, phase)}
    brought = {path: _digest(path) for path in phase.brought(options)}
    return Inputs(chosen, {**digests(plan.root, phase.read_by(options)), **brought})


def _counts(name: str, phase: Phase) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in phase.options)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _digest(path: str) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its path in the options") from None
