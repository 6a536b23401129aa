"""A scheduler answers `choose`: which share of a task goes to a GPU, and which device takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple, TypeGuard

from hybrid_scheduler.core.compiler import compiled, is_compiled
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.deprecated import adopt_policy, old_attribute
from hybrid_scheduler.errors import SchedulerError, check_number


class Evidence(NamedTuple):
    """What a decision rests on; NaN is what the policy does not know."""

    seconds: Floats  # expected duration by device class
    scores: Floats | None = None  # the policy's own score of every device, larger is better
    contributions: dict[str, float] = {}  # noqa: RUF012  # read only: how far each feature moved the decision


class Scheduler:
    """Base of all policies: override `choose`, and what else the policy needs.

    Mark `choose` with `@compiled` and it runs compiled inside the loop; `self` then offers the object's public
    numbers and arrays, and state that changes belongs in arrays.
    """

    name: str = ""
    clairvoyant: ClassVar[bool] = True
    """Whether `task.times` holds the true times; a policy that sets this to False provably never sees them."""
    stochastic: ClassVar[bool] = False
    """Whether decisions depend on random numbers (of the policy's seed)."""
    splits: ClassVar[bool] = False
    """Whether a task may be split between a GPU and a CPU."""
    batch_mode: ClassVar[bool] = False
    """Whether decisions depend on the block of tasks as a whole, not on one task at a time."""
    learn_every: int = 0
    """Tasks between two calls of `learn`; 0: it does not learn (see `Learner`)."""

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> Ints | None:
        """Look at a block of tasks before its first decision; `times` is NaN unless `clairvoyant`.

        Return the rows in the order in which they shall be decided, or None: as they become ready.
        """

    def predict_seconds(self) -> Floats | None:
        """Return how long it expects the tasks of the block last prepared to take, by class, if it has a model.

        The queues that a non-clairvoyant policy sees are estimated by that; where it does not know (None or NaN), by
        the mean of the tasks that have ended on the class.
        """
        return None

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Return (gpu_fraction, device) for one task."""
        raise SchedulerError(f"scheduler '{self.name}' has no choose: override choose or plan")

    def evidence(self, task: TaskView, view: View) -> Evidence:  # for policies that score devices
        """Return what the decision about a task of the current block rests on, for explanations."""
        return Evidence(task.times)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adopt_policy(cls)

    def __getattr__(self, name: str) -> Any:
        return old_attribute(self, name)


class BatchScheduler(Scheduler):
    """Base of policies that decide all tasks which are ready together: override `plan` instead of `choose`."""

    batch_mode = True

    def __init__(self, window: Annotated[int, "most tasks that are planned together"] = 4096) -> None:
        check_number(f"{self.name}: window", window, 1, 10**6, whole=True)
        self.window = window

    def plan(self, batch: Any, view: View) -> Any:
        """Return (order, gpu_fractions, devices) for tasks that are ready together."""
        raise SchedulerError(f"scheduler '{self.name}' has no plan: override it")


def plans_batches(policy: Scheduler) -> TypeGuard[BatchScheduler]:
    """Whether a policy decides by `plan` instead of `choose`, whatever its class."""
    return callable(getattr(policy, "plan", None))


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
