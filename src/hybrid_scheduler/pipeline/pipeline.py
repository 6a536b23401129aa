"""Runs the five phases in order: finished ones are kept, those whose inputs have changed are run again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.pipeline.config import Options, flatten
from hybrid_scheduler.pipeline.evaluate import EVALUATE_PHASE
from hybrid_scheduler.pipeline.phases import (
    GENERATE_PHASE,
    PROFILE_PHASE,
    SCHEDULE_PHASE,
    TRAIN_PHASE,
    Phase,
    PhaseContext,
    PhaseOutput,
)
from hybrid_scheduler.pipeline.workspace import Inputs, Record, Workspace, hash_files

PHASES = (PROFILE_PHASE, GENERATE_PHASE, TRAIN_PHASE, SCHEDULE_PHASE, EVALUATE_PHASE)


class Observer(Protocol):
    """Follows a pipeline at work."""

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        """Show that a phase begins; `reason` says why it is run again, and is empty the first time."""

    def step(self, done: int, total: int) -> None:
        """Show the progress of the phase."""

    def note_moved(self, lines: list[str]) -> None:
        """Show where earlier results were moved to."""

    def end(self, number: int, phase: Phase, record: Record, fresh: bool) -> None:
        """Show that a phase is done: now (`fresh`), or before."""


class SilentObserver:
    """Shows nothing."""

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        """Show nothing."""

    def step(self, done: int, total: int) -> None:
        """Show nothing."""

    def note_moved(self, lines: list[str]) -> None:
        """Show nothing."""

    def end(self, number: int, phase: Phase, record: Record, fresh: bool) -> None:
        """Show nothing."""


@dataclass(frozen=True)
class Plan:
    """How to run the pipeline."""

    options: Options
    root: Path = Path()
    start: str = ""  # phase from which on everything is run again
    force: bool = False  # replace earlier results instead of moving them aside


def run(plan: Plan, observer: Observer | None = None, phases: tuple[Phase, ...] = PHASES) -> list[Record]:
    """Bring every phase up to date and return their records."""
    first = _find_phase(plan.start, phases) if plan.start else len(phases)
    workspace = Workspace(plan.root)
    with workspace.lock():
        for phase in phases:
            workspace.read_record(phase.name)  # report a record that cannot be trusted before any work
        runner = _Runner(plan, workspace, observer or SilentObserver())
        return [runner.update(phase, number, forced=number >= first) for number, phase in enumerate(phases)]


def _find_phase(start: str, phases: tuple[Phase, ...]) -> int:
    names = [phase.name for phase in phases]
    if start.isdecimal() and 1 <= int(start) <= len(names):
        return int(start) - 1
    if start not in names:
        raise unknown_name("phase", start, names, f"or a number from 1 to {len(names)}")
    return names.index(start)


@dataclass(frozen=True)
class _Runner:
    plan: Plan
    workspace: Workspace
    observer: Observer

    def update(self, phase: Phase, number: int, forced: bool) -> Record:
        """Return the record of a phase, after running it if it is missing, stale or forced."""
        inputs = self._hash_inputs(phase)
        before = self.workspace.read_record(phase.name)
        reason = "requested by --from" if forced else self._find_change(phase, inputs, before) if before else ""
        if before and not reason:
            self.observer.end(number, phase, before, False)
            return before
        self.observer.begin(number, phase, reason if before else "")
        record = self._run(phase, inputs)
        self.observer.end(number, phase, record, True)
        return record

    def _hash_inputs(self, phase: Phase) -> Inputs:
        """Return everything that the results of a phase depend on, as it is now."""
        options = self.plan.options
        chosen = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in flatten(options)
            if any(name == each or name.startswith(f"{each}.") for each in phase.options)
        }
        user_files = {path: _hash_user_file(path) for path in phase.user_files(options)}
        return Inputs(chosen, {**hash_files(self.plan.root, phase.list_inputs(options)), **user_files})

    def _find_change(self, phase: Phase, inputs: Inputs, before: Record) -> str:
        """Return why a phase must be run again, empty if it need not; an output that was altered is an error."""
        now = hash_files(self.plan.root, tuple(before.outputs))
        for place, digest in before.outputs.items():
            if place in now and now[place] != digest:
                raise InputError(
                    f"{self.plan.root / place} is torn or not the file that phase '{phase.name}' wrote (its SHA-256 "
                    f"differs): restore it, or do the phase again with --from {phase.name}"
                )
        missing = [place for place in before.outputs if place not in now]
        return f"{missing[0]} is missing" if missing else inputs.differs(before.inputs)

    def _run(self, phase: Phase, inputs: Inputs) -> Record:
        begin = time.perf_counter()
        with self.workspace.scratch(phase.name) as scratch:
            output = self._call(phase, PhaseContext(self.plan.options, self.plan.root, scratch, self.observer.step))
            outputs = hash_files(scratch, phase.outputs)
            self.observer.note_moved(self.workspace.publish(phase.name, scratch, phase.outputs, self.plan.force))
        measured = {**output.measured, "seconds": time.perf_counter() - begin}
        record = Record(phase.name, inputs, outputs, output.facts, measured)
        record.write(self.workspace.record_path(phase.name))
        return record

    def _call(self, phase: Phase, context: PhaseContext) -> PhaseOutput:
        try:
            return phase.run(context)
        except OSError as error:
            what = f"read or write {error.filename}" if error.filename else "read or write"
            raise InputError(
                f"phase '{phase.name}' cannot {what} ({error.strerror or error}): check rights and space"
            ) from None


def _hash_user_file(path: str) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its path in the options") from None
