"""A scheduler answers `choose`: which share of a task goes to a GPU, and which device takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hybrid_scheduler.core.compiling import compiled, is_compiled
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import SchedulerError

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.explain import Explanation


class Scheduler:
    """Base of all policies: override `choose`, and what else the policy needs.

    Mark `choose` (or `plan`) with `@compiled` and it runs compiled inside the loop; `self` then offers the
    object's public numbers and arrays, and state that changes belongs in arrays.
    """

    name: str = ""
    sighted: ClassVar[bool] = True
    """Whether `task.times` holds the true times; a policy that sets this to False provably never sees them."""
    order: Ints | None = None
    """Set by `prepare` to decide tasks in this order of rows instead of as they become ready."""
    window: int = 4096
    """Most tasks that `plan` is handed at once."""
    learn_every: int = 0
    """How many tasks pass between two calls of `learn`; 0 is never."""
    shared: ClassVar[tuple[str, ...]] = ()
    """Attributes that deciding never changes: a `twin` shares them, which saves the copies of large ones."""
    remembered: ClassVar[tuple[str, ...]] = ()
    """Arrays with a row per task of a block that `learn` reads again: real tasks end in an order of their own."""

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Return (gpu_fraction, device) for one task."""
        raise SchedulerError(f"scheduler '{self.name}' has no choose: override choose or plan")

    @property
    def chooser(self) -> Callable[..., Any]:
        """The function that is compiled into the loop for the next block; it must answer as `choose` does."""
        return type(self).choose

    def plan(self, batch: Any, view: View) -> Any:
        """Return (order, gpu_fractions, devices) for tasks that are ready together; replaces `choose`."""
        raise SchedulerError(f"scheduler '{self.name}' has no plan: override choose or plan")

    @property
    def plans(self) -> bool:
        """Whether this policy decides in batches."""
        return type(self).plan is not Scheduler.plan

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Look at a block of tasks before its first decision; `times` is NaN unless `sighted`."""

    def learn(self, placements: Placements) -> None:
        """Learn from what became of the last block."""

    def weigh_energy(self, weight: float) -> None:
        """Weigh energy (1) against time (0) from now on; most policies do not care."""

    def learn_beside(self, tasks: int) -> None:
        """Learn in another process from now on; what is learnt counts `tasks` tasks later."""

    def close(self) -> None:
        """Let go of what the policy holds, such as a process that learns beside it."""

    def save(self, path: str | Path) -> None:
        """Write what was learnt to a file."""
        raise SchedulerError(f"scheduler '{self.name}' learns nothing, so there is nothing to save")

    def load(self, path: str | Path) -> None:
        """Read what was learnt from a file."""
        raise SchedulerError(f"scheduler '{self.name}' learns nothing, so there is nothing to load")

    def expected_seconds(self, task: TaskView) -> Floats:
        """Return the seconds by class that this policy expects of a task; NaN is what it does not know."""
        return task.times

    def scores(self, task: TaskView, view: View) -> Floats:
        """Return this policy's own judgement of every device, larger is better; NaN if it has none."""
        return np.full(len(view.free), np.nan)

    def contributions(self, task: TaskView) -> dict[str, float]:
        """Return how far each feature moved the decision, for policies that can tell."""
        return {}

    def twin(self) -> Self:
        """Return a copy that can be asked without a trace; it must not learn, for it shares what was learnt."""
        return deepcopy(self, {id(value): value for value in (getattr(self, name) for name in self.shared)})

    def explain(self, task: TaskView, view: View) -> Explanation:
        """Return what this policy expects of every device, and which one it takes."""
        from hybrid_scheduler.schedulers.explain import explain

        return explain(self, task, view)


def from_function(function: Callable[[TaskView, View], tuple[float, int]], **options: Any) -> Scheduler:
    """Make a scheduler of a plain function `choose(task, view)`, compiled if it is marked `@compiled`."""
    if options:
        raise SchedulerError(f"policy function '{function.__name__}' takes no options, got {', '.join(options)}")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise SchedulerError(f"policy function '{function.__name__}' must take (task, view)") from None
    inner = function
    if is_compiled(function):
        from numba.extending import register_jitable

        inner = register_jitable(function)

    def choose(self: Scheduler, task: TaskView, view: View) -> tuple[float, int]:  # noqa: ARG001  # a method's shape
        return inner(task, view)

    method = compiled(choose) if is_compiled(function) else choose
    members = {"choose": method, "name": function.__name__, "__doc__": function.__doc__}
    built: Scheduler = type(function.__name__, (Scheduler,), members)()
    return built
