"""HeteroPrio with spoliation: every class takes what it is relatively best at, and finishes what others are slow at.

Tasks are sorted by acceleration factor, seconds on a CPU over seconds on a GPU; idle GPUs take from one end, idle
CPUs from the other (Agullo et al. 2016, "Task-based FMM for heterogeneous architectures"). An idle device for which
nothing waits may abort what a device of another class runs and begin it anew, if it ends earlier that way: of such
tasks the one that would end last (Beaumont, Eyraud-Dubois, Kumar 2017, "Approximation proofs of a fast and efficient
list scheduling algorithm for task-based runtime systems on multicores and GPUs"). With more than two classes the
factor is the seconds on the fastest other class over those on the own one.
"""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.late_binding import Running, Waiting, find_idle
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import View
from hybrid_scheduler.schedulers.late_binding import LateBinding, may_take


class HeteroPrio(LateBinding):
    """Largest acceleration first, seen from the idle device; what runs too slowly elsewhere is taken over."""

    name = "heteroprio"

    @compiled
    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        """Take the task that this class accelerates most; equal ones in order of arrival."""
        best, most = -1, -1.0
        find_idle(waiting, view, self.idle)
        for position in range(waiting.length):
            row = waiting.row[position]
            if may_take(row, device, waiting, view, self.idle):
                factor = find_acceleration(waiting.times[row], view.device_class[device])
                if factor > most:
                    best, most = position, factor
        return best

    @compiled
    def spoliate(self, running: Running, device: int, view: View) -> int:
        """Take over the task that would end last, of those that end earlier here."""
        kind, victim, latest = view.device_class[device], -1, 0.0
        for other in range(len(running.row)):
            row = running.row[other]
            if row < 0 or view.device_class[other] == kind or running.memory_required[row] > view.memory[device]:
                continue
            start = max(running.now, running.arrives[other]) if len(running.arrives) > 0 else running.now
            if start + running.times[row, kind] < view.running_end[other] and view.running_end[other] > latest:
                victim, latest = other, view.running_end[other]
        return victim


@jitable
def find_acceleration(seconds: Floats, own: int) -> float:
    """Return by how much a class is faster than the fastest other one; inf if no other class can run the task."""
    fastest = np.inf
    for kind in range(len(seconds)):
        if kind != own:
            fastest = min(fastest, seconds[kind])
    return fastest / seconds[own]
