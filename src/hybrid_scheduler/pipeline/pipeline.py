"""Runs the five phases in order: finished ones are kept, those whose inputs have changed are run again.

A record says what a phase was made from and what it wrote; a phase with an up-to-date record is not run again.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from hybrid_scheduler import __version__
from hybrid_scheduler.core.formatting import format_count
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import atomic_write, scratch_file, sha256
from hybrid_scheduler.pipeline.config import Options, flatten
from hybrid_scheduler.pipeline.evaluate import EVALUATE_PHASE
from hybrid_scheduler.pipeline.phases import (
    GENERATE_PHASE,
    PROFILE,
    PROFILE_PHASE,
    SCHEDULE_PHASE,
    TEST_TRACE,
    TRAIN_PHASE,
    TRAINING_TRACE,
    Phase,
    PhaseContext,
)
from hybrid_scheduler.profiling.profile import MEASURED
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.statistics import summarise

PHASES = (PROFILE_PHASE, GENERATE_PHASE, TRAIN_PHASE, SCHEDULE_PHASE, EVALUATE_PHASE)
SCHEMA = 1
KIND = "pipeline_phase"
RECORDS, EARLIER = "data/pipeline", "data/earlier"


# --- phases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """Everything that the results of a phase depend on."""

    options: dict[str, Any]
    files: dict[str, str]  # SHA-256 by path
    version: str

    def differs(self, before: Inputs) -> str:
        """Return what has changed since `before`; empty if nothing has."""
        for name, value in self.options.items():
            was = before.options.get(name)
            if value != was:
                texts = (json.dumps(each, ensure_ascii=False) for each in (value, was))
                now, then = (text if len(text) <= 60 else text[:59] + "…" for text in texts)
                return f"{name} is {now}, was {then}"
        for name, digest in self.files.items():
            if digest != before.files.get(name):
                return f"{name} is another one"
        if self.files.keys() != before.files.keys() or self.options.keys() != before.options.keys():
            return "its options or inputs are others"
        return "" if self.version == before.version else f"version {before.version} made it, this is {self.version}"


@dataclass(frozen=True)
class Record:
    """One finished phase."""

    phase: str
    inputs: Inputs
    outputs: dict[str, str]  # SHA-256 by path below the pipeline's folder
    facts: dict[str, Any]  # figures, the same for the same inputs
    measured: dict[str, Any]  # wall times and other measurements


def describe_phase(record: Record) -> str:
    """Return what a phase found in a few words."""
    facts, measured = record.facts, record.measured
    match record.phase:
        case "profiling":
            gpu = measured["gpu"] if measured["gpu_source"] == MEASURED else f"no GPU ({measured['gpu_source']})"
            return f"{measured['points']} times measured on {measured['cores']} cores; {gpu}"
        case "workload":
            training, test = facts[TRAINING_TRACE]["num_tasks"], facts[TEST_TRACE]["num_tasks"]
            return f"{training:,} tasks to train on, {test:,} to schedule"
        case "training":
            importances = facts["feature_importances"]
            first = max(importances, key=lambda name: importances[name])
            return f"R² {facts['test_r2']:.3f}, error {facts['mae']:.3f} on unseen tasks; {first} matters most"
        case "scheduling":
            agent = f"; agent pretrained on {facts['agent_tasks']:,}" if facts["agent_tasks"] else ""
            return f"{facts['tasks']:,} tasks, {facts['mean_gpu_fraction']:.0%} to GPUs{agent}"
    return f"{len(facts['schedulers'])} policies on {format_count(facts['seeds'], 'seed')}"


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
        if before and phase.replaceable:
            before = self._accept_replaced(before)
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
        is_profiled = options.machine == "profile" and "machine" in phase.options
        files = hash_files(self.plan.root, (*phase.inputs, PROFILE) if is_profiled else phase.inputs)
        for path in phase.user_files(options):
            try:
                files[path] = sha256(path)
            except OSError as error:
                raise InputError(f"{path} cannot be read ({error.strerror}): check its path in the options") from None
        return Inputs(chosen, files, __version__)

    def _accept_replaced(self, before: Record) -> Record:
        """Return the record with the tasks that the user has put in place of the written ones, if there are any."""
        now = hash_files(self.plan.root, tuple(before.outputs))
        replaced = [place for place, digest in now.items() if digest != before.outputs[place]]
        if not replaced:
            return before
        facts = {place: summarise(reader.read(self.plan.root / place)) for place in replaced}
        record = replace(before, outputs={**before.outputs, **now}, facts={**before.facts, **facts})
        self.workspace.write_record(record)
        self.observer.note_moved([f"{place} is another one now: its tasks are taken" for place in replaced])
        return record

    def _find_change(self, phase: Phase, inputs: Inputs, before: Record) -> str:
        """Return why a phase must be run again, empty if it need not; an output that was altered is an error."""
        now = hash_files(self.plan.root, tuple(before.outputs))
        for place, digest in before.outputs.items():
            if place in now and now[place] != digest:
                raise InputError(
                    f"{self.plan.root / place} is damaged or not the file that phase '{phase.name}' wrote (its "
                    f"SHA-256 differs): restore it, or do the phase again with --from {phase.name}"
                )
        missing = [place for place in before.outputs if place not in now]
        return f"{missing[0]} is missing" if missing else inputs.differs(before.inputs)

    def _run(self, phase: Phase, inputs: Inputs) -> Record:
        begin = time.perf_counter()
        with self.workspace.scratch(phase.name) as scratch:
            context = PhaseContext(self.plan.options, self.plan.root, scratch, self.observer.step)
            try:
                output = phase.run(context)
            except OSError as error:
                what = f"read or write {error.filename}" if error.filename else "read or write"
                raise InputError(
                    f"phase '{phase.name}' cannot {what} ({error.strerror or error}): check rights and space"
                ) from None
            outputs = hash_files(scratch, phase.outputs)
            self.observer.note_moved(self.workspace.publish(phase.name, scratch, phase.outputs, self.plan.force))
        measured = {**output.measured, "seconds": time.perf_counter() - begin}
        record = Record(phase.name, inputs, outputs, output.facts, measured)
        self.workspace.write_record(record)
        return record


# --- files ---------------------------------------------------------------------------------------------------


def hash_files(root: Path, places: tuple[str, ...]) -> dict[str, str]:
    """Return the SHA-256 of every file at or below these places of a folder, by path relative to the folder."""
    found: dict[str, str] = {}
    for place in places:
        path = root / place
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        found.update({each.relative_to(root).as_posix(): sha256(each) for each in files if each.is_file()})
    return found


class Workspace:
    """The files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._earlier: Path | None = None

    def record_path(self, phase: str) -> Path:
        """Return the path of a phase's record."""
        return self.root / RECORDS / f"{phase}.json"

    def write_record(self, record: Record) -> None:
        """Write the record of a phase, whole or not at all."""
        document = {"kind": KIND, "schema": SCHEMA, **asdict(record)}
        with atomic_write(self.record_path(record.phase)) as scratch:
            scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def read_record(self, phase: str) -> Record | None:
        """Return the record of a phase, if it has one; one that cannot be trusted is an error."""
        path = self.record_path(phase)
        corrupt = InputError(f"{path} is damaged or no record of a phase: remove it, and its phase is run again")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):
            raise corrupt from None
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None
        if not isinstance(data, dict) or data.get("kind") != KIND or not isinstance(data.get("schema"), int):
            raise corrupt
        if data["schema"] > SCHEMA:
            raise InputError(
                f"{path} was written by a newer version (schema {data['schema']}, known {SCHEMA}): upgrade, or "
                "choose another --out"
            )
        try:
            record = TypeAdapter(Record).validate_python(data)
        except ValidationError:
            raise corrupt from None
        if record.phase != phase:
            raise corrupt
        return record

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second pipeline out of the folder while a block runs; the folder must be writable."""
        folder = self.root / RECORDS
        with scratch_file(folder):
            pass
        with (folder / ".lock").open("w", encoding="utf-8") as file:
            if not _try_lock(file.fileno()):
                raise InputError(f"another pipeline is at work in {self.root}: wait for it, or choose another --out")
            yield

    @contextmanager
    def scratch(self, phase: str) -> Iterator[Path]:
        """Yield an empty folder for a phase to write to; leftovers of an interruption are removed."""
        folder = self.root / RECORDS / f".{phase}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"cannot write {folder} ({error.strerror}): choose another --out") from None
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, phase: str, made: Path, places: tuple[str, ...], force: bool) -> list[str]:
        """Move a phase's results into place; return lines on where earlier results were moved to."""
        self.record_path(phase).unlink(missing_ok=True)  # from here on the phase is not finished
        moved = []
        for place in places:
            old, new = self.root / place, made / place
            if old.exists() or old.is_symlink():
                same = new.exists() and _hash_tree(old) == _hash_tree(new)
                if not (force or same):
                    there = self._archive() / place
                    self._move(old, there)
                    moved.append(f"{place} of before is now {there.relative_to(self.root).as_posix()}")
                elif old.is_dir() and not old.is_symlink():
                    shutil.rmtree(old)
                else:
                    old.unlink()
            if new.exists():
                self._move(new, old)
        return moved

    def _archive(self) -> Path:
        """Return the folder to which this run moves earlier results."""
        if self._earlier is None:
            folder = self.root / EARLIER
            numbers = [int(each.name) for each in folder.glob("*") if each.name.isdecimal()]
            self._earlier = folder / str(max(numbers, default=0) + 1)
        return self._earlier

    def _move(self, source: Path, target: Path) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
        except OSError as error:
            raise InputError(f"cannot write {target} ({error.strerror}): check its rights and free space") from None


def _hash_tree(path: Path) -> dict[str, str]:
    return hash_files(path, ("",)) if path.is_dir() else {"": sha256(path)} if path.is_file() else {}


def _try_lock(handle: int) -> bool:
    """Take the lock of a file, which the system releases when the process ends."""
    if os.name != "posix":
        return True  # no such lock elsewhere: the user must not start two pipelines in one folder
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
