"""Decisions are interpreted until the compiled loop of a policy is there, which is loaded beside the work."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.explain import copy_policy
from hybrid_scheduler.schedulers.scheduler import Scheduler, plans_batches

LOAD_AFTER = 1.0  # CPU seconds of interpreting, some 25,000 small calls: as long as loading takes, beside the work
OWN_PACKAGE = f"{__name__.partition('.')[0]}."


class LoopLoader:
    """Steps a policy: no decision waits for a loop that is compiled, or read from the cache."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._thread: threading.Thread | None = None
        self._is_loaded = False

    def step(self, machine: VirtualMultiGPU, policy: Scheduler, block: Tasks, times: Floats) -> Placements:
        """Let a policy place a block of tasks."""
        if self._is_loaded or not _may_interpret(policy):
            return machine.step(block, policy, times=times)
        begin = time.thread_time()
        placed = machine.step(block, policy, times=times, interpreted=True)
        self._spent += time.thread_time() - begin
        if self._spent > LOAD_AFTER and self._thread is None:
            arguments = machine.twin(), copy_policy(policy), block, times.copy()
            self._thread = threading.Thread(target=self._load, args=arguments, name="loop-loader")
            with suppress(RuntimeError):  # the interpreter is about to end: nothing is worth loading
                self._thread.start()
        return placed

    def _load(self, machine: VirtualMultiGPU, policy: Scheduler, block: Tasks, times: Floats) -> None:
        try:
            machine.step(block, policy, times=times)
        finally:
            self._is_loaded = True  # an error is raised again where it belongs, by the next decision


def _may_interpret(policy: Scheduler) -> bool:
    """Whether plain Python gives what compiled code does, as the conformance suite proves, and is quick enough."""
    is_quick = not plans_batches(policy) and not policy.learn_every
    return is_quick and type(policy).__module__.startswith(OWN_PACKAGE)
