"""From a task to its result: task function, job, call, answer.

A job is one submitted call to a task function; its future gets the result. It is sent to a worker as one call, or to
two as two if a GPU and a CPU share it. A worker runs a call and sends an answer.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from numbers import Real
from threading import get_ident
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, ref

from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.runtime.objects import (
    DRIVER,
    MIN_BUFFER,
    MIN_SHARED,
    ObjectStore,
    Origin,
    Pickled,
    Segment,
    StoredObject,
)

VALUE, ERROR, LOST, CANCELLED, MISSING = 0, 1, 2, 3, 4
"""Outcomes of a call: a value, an exception, every worker died, cancelled before it began, an argument is gone."""
SMALL_SECONDS = 0.01  # calls expected to take less are sent in batches
NAN = float("nan")
KINDS = ("cpu", "gpu")
ALL_KINDS = frozenset(KINDS)
NOTHING: Mapping[Any, Any] = MappingProxyType({})
NO_KEYWORDS: dict[str, Any] = {}  # never written to
EMPTY_SIZE = 0.5  # that stands for 0, such as the length of an empty list: sizes are compared by their ratio
FEATURES = {"size": "a number from 0", "intensity": "a number from 0 to 1", "memory": "megabytes, 0 or more"}
"""Features of a task and what is expected of them."""
PLAIN_TYPES = {bool, int, float, str, bytes, type(None)}
_is_plain_type = PLAIN_TYPES.issuperset
PLAIN = (1.0, 0.5, 0.0)
"""Features of a function that nothing is said of."""
T = TypeVar("T")
Feature = float | Callable[..., float]
Function = Callable[..., Any]
_FUNCTION_TYPES = {FunctionType, BuiltinFunctionType}
_EMPTY_CELL = CellType()


def _pair(gpu_part: Any, cpu_part: Any) -> Any:
    return gpu_part, cpu_part


class TaskFunction:
    """A function that can be submitted, with its features and its implementations.

    `size`, `intensity` and `memory` (MB) are numbers, or functions of the arguments of the call. `only` restricts it
    to one kind of device.
    """

    def __init__(
        self,
        function: Function,
        size: Feature = 1.0,
        intensity: Feature = 0.5,
        memory: Feature = 0.0,
        only: str | None = None,
        name: str = "",
    ) -> None:
        if not callable(function):
            raise InputError(f"{function!r} cannot be called: submit a function, a @task or a Command")
        if only is not None and only not in KINDS:
            raise InputError(f"task '{function!r}': only is {only!r}, expected cpu or gpu")
        self.function = function
        inner = getattr(function, "func", function)  # functools.partial
        own = f"{getattr(inner, '__module__', '') or ''}.{getattr(inner, '__qualname__', type(inner).__qualname__)}"
        self.name = name or getattr(function, "task_name", "") or own.lstrip(".")  # for its measured times
        self._features = size, intensity, memory
        self._is_plain = self._features == PLAIN  # its size is guessed
        self._constant = PLAIN if self._is_plain else None  # that no argument changes
        # One is made for every call of a plain function: what such a function has none of takes no memory.
        self.kinds = ALL_KINDS if only is None else frozenset({only})  # of devices that can run it
        self._by_kind: Mapping[str, Function] = NOTHING
        self._share: Function | None = None
        self.can_split = False  # whether a GPU and a CPU can each run a part
        self.combine_parts: Function = _pair
        self._bytes: Mapping[Function, bytes] = NOTHING  # of those that were marked; a plain function may change

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, in this process."""
        return self.function(*args, **kwargs)

    def on(self, kind: str) -> Callable[[Function], Function]:
        """Mark the implementation for a kind of device: `@f.on("gpu")`."""
        if kind not in KINDS:
            raise InputError(f"task '{self.name}': no kind of device is called '{kind}', expected cpu or gpu")

        def register(function: Function) -> Function:
            self.kinds |= {kind}
            self._by_kind = {**self._by_kind, kind: function}
            return function

        return register

    def share(self, function: Function) -> Function:
        """Mark the function `f(begin, end, *args)` that runs the part from `begin` to `end`, 0 to 1, of the work."""
        self._share, self.can_split = function, True
        return function

    def combine(self, function: Function) -> Function:
        """Mark the function that combines the GPU's part, which comes first, and the CPU's into one result."""
        self.combine_parts = function
        return function

    def create_job(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any], arrival: float) -> Job:
        """Return the job of a call with these arguments."""
        given = (*args, *kwargs.values()) if kwargs else args
        is_plain = are_plain(given)
        size, intensity, memory = PLAIN if is_plain and self._is_plain else self._evaluate_features(args, kwargs)
        job = Job(number, self, args, kwargs, size, intensity, memory, arrival, arrival)
        if not is_plain:
            job.data = find_data(given)
        return job

    def _evaluate_features(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, float, float]:
        """Return size, intensity and memory of a call."""
        if self._constant is not None:
            size = guess_size((*args, *kwargs.values()))
            return (size, *self._constant[1:]) if self._is_plain else self._constant
        values = []
        if any(map(callable, self._features)):
            args, kwargs = load_stored(args), load_stored(kwargs)
        for name, given in zip(FEATURES, self._features, strict=True):
            value: Any = given(*args, **kwargs) if callable(given) else given
            high = 1.0 if name == "intensity" else float("inf")
            # Asked by type first: the abstract class, for the numbers of NumPy, takes as long as the rest of a job.
            number = float(value) if type(value) in (float, int) or isinstance(value, Real) else NAN
            if not 0.0 <= number <= high or number == float("inf"):
                raise InputError(f"task '{self.name}': {name} is {value!r}, expected {FEATURES[name]}")
            values.append(number or (EMPTY_SIZE if name == "size" else 0.0))
        size, intensity, memory = values
        if not any(map(callable, self._features)):
            self._constant = size, intensity, memory
        return size, intensity, memory

    def serialize(self, kind: str, is_part: bool) -> bytes:
        """Return the pickled implementation for a kind of device, or the function that runs a part; pickled once."""
        function = self._share if is_part and self._share else self._by_kind.get(kind, self.function)
        if self._bytes is NOTHING and (blob := find_pickled_name(function)):
            return blob
        if function not in self._bytes:
            try:
                self._bytes = {**self._bytes, function: serialize(function)}
            except Exception as error:
                raise InputError(
                    f"task '{self.name}' cannot be sent to a worker ({error}): it must be picklable"
                ) from error
        return self._bytes[function]


CONTAINERS = {list, tuple, set, frozenset, dict}  # exactly these: others may hold what they like


def search_containers(container: Any, kind: type[T]) -> Iterator[T]:
    """Yield the objects of a kind inside a container, which may contain itself."""
    seen, left = {id(container)}, [container]
    while left:
        items = left.pop()
        for each in chain(items, items.values()) if type(items) is dict else items:
            if isinstance(each, kind):
                yield each
            elif type(each) in CONTAINERS and id(each) not in seen:
                seen.add(id(each))
                left.append(each)


def replace_inside(argument: Any, kind: type[T], replace: Callable[[T], Any]) -> Any:
    """Return an argument with objects of a kind replaced; containers without any are returned as they are."""
    if isinstance(argument, kind):
        return replace(argument)
    container = type(argument)
    if container not in CONTAINERS or next(search_containers(argument, kind), None) is None:
        return argument
    if container is dict:
        return {replace_inside(a, kind, replace): replace_inside(b, kind, replace) for a, b in argument.items()}
    return container(replace_inside(each, kind, replace) for each in argument)


def load_stored(argument: Any) -> Any:
    """Return an argument with the values in place of those that are in the store."""
    return replace_inside(argument, StoredObject, StoredObject.load)


def are_plain(args: tuple[Any, ...]) -> bool:
    """Whether arguments are numbers, words and the like; asked for every call, so without a loop in Python."""
    return _is_plain_type(map(type, args))


def find_data(args: tuple[Any, ...]) -> dict[str, int]:
    """Return the bytes of large arguments, also inside containers, by the place where they are."""
    found = dict[str, int]()
    inside = [search_containers(each, object) for each in args if type(each) in CONTAINERS]
    for each in chain(args, *inside):
        num_bytes = None if type(each) in PLAIN_TYPES else getattr(each, "nbytes", None)
        if type(num_bytes) is int and num_bytes >= MIN_BUFFER:
            place = each.place if type(each) is StoredObject else DRIVER
            found[place] = found.get(place, 0) + num_bytes
    return found


def guess_size(args: tuple[Any, ...]) -> float:
    """Return the size of a call that nothing is said of: bytes of arrays, lengths of containers, else 1."""
    size = 0.0
    for each in args:
        if type(each) in PLAIN_TYPES:
            continue
        num_bytes = getattr(each, "nbytes", None)
        if type(num_bytes) is int:
            size += num_bytes
        elif type(each) in CONTAINERS or type(each) is range:
            size += len(each)
    return size or 1.0


class WorkerLostError(SchedulerError):
    """A task whose worker died every time it was tried, or for which no device is left."""


class RemoteTraceback(Exception):  # noqa: N818  # named as in concurrent.futures: it carries text, it is no error
    """The traceback of a worker, as the cause of the exception that reaches the caller."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


@dataclass(slots=True)
class Answer:
    """The outcome of a call, its start and end by the clock of this machine, and the pickled value or exception.

    Large buffers of a value are in `segments`; loading the arguments and writing the buffers took the other seconds.
    """

    outcome: int
    start: float = NAN
    end: float = NAN
    payload: bytes = b""
    segments: Sequence[Segment] = ()
    load_seconds: float = 0.0
    store_seconds: float = 0.0
    place: str = DRIVER  # where the segments are

    def value(self) -> Any:
        """Return the value; only for the outcome VALUE."""
        if self.segments:
            return StoredObject(self.payload, self.segments).load()
        return pickle.loads(self.payload)  # noqa: S301  # written by our own worker

    def error(self) -> BaseException:
        """Return the exception of the task, with the worker's traceback as its cause."""
        error: BaseException
        error, text = pickle.loads(self.payload)  # noqa: S301  # written by our own worker
        error.__cause__ = RemoteTraceback(text)
        return error


class CallOptions(NamedTuple):
    """What is asked for one call beside its arguments; `device` is the number of the only one that may run it."""

    retries: int = 0
    timeout: float | None = None
    priority: float = 0.0
    memory: float | None = None
    gpu_share: float | None = None
    device: int = -1
    planned: int = -1  # device of a plan, unless its worker is dead
    nested: bool = False  # a task waits for it

    def check(self, task: TaskFunction) -> None:
        """Raise an error if there is no sense in them."""
        share = self.gpu_share
        if self.retries < 0:
            raise InputError(f"task '{task.name}': retries is {self.retries}, expected a whole number from 0")
        if self.timeout is not None and not self.timeout > 0.0:
            raise InputError(f"task '{task.name}': timeout is {self.timeout!r}, expected seconds above 0")
        if self.memory is not None and not 0.0 <= self.memory < float("inf"):
            raise InputError(f"task '{task.name}': memory is {self.memory!r}, expected {FEATURES['memory']}")
        if share is not None and not 0.0 <= share <= 1.0:
            raise InputError(f"task '{task.name}': gpu_share is {share!r}, expected a number from 0 to 1")
        if share is not None and 0.0 < share < 1.0 and not task.can_split:
            raise InputError(
                f"task '{task.name}' cannot be split: mark a function with @{task.name}.share, or use 0 or 1"
            )


DEFAULT_OPTIONS = CallOptions()


class TaskTimeoutError(SchedulerError, TimeoutError):
    """A task that was ended because it took longer than its timeout."""


@dataclass(slots=True, eq=False)
class Call:
    """A pickled function and its arguments for one device.

    `begin` is called once, before the call is first sent; if it returns False, the call was cancelled. Arguments are
    pickled when the worker is about to take them: a call that waits costs nothing, and may still go elsewhere.
    """

    number: int
    device: int
    function: bytes
    arguments: Pickled | Callable[[ObjectStore | None], Pickled]
    intensity: float
    expected: float  # seconds; NaN if unknown
    begin: Callable[[], bool] | None = None
    attempts: int = 0  # ended by the death of a worker
    batch: int = 0  # number of the batch in which it went to its worker
    num_bytes: int = 0  # of its message
    timeout: float | None = None  # seconds after which its worker is ended
    verdict: Answer | None = None  # it is to be ended with this
    nested: bool = False  # a task waits for it
    nests: bool = False  # it has submitted others, and runs what comes while it waits for them
    tag: Any = field(default=None, repr=False)  # for the sender

    def pickle_arguments(self, objects: ObjectStore | None = None) -> Pickled:
        """Return the pickled arguments; they are pickled once, large ones into the store."""
        if not isinstance(self.arguments, Pickled):
            self.arguments = self.arguments(objects)
        return self.arguments


@dataclass(slots=True, eq=False)
class Share:
    """The part of a job that one device runs, and when it ran."""

    device: int
    part: float  # 0 to 1
    on_gpu: bool
    start: float = NAN
    end: float = NAN
    answer: Answer | None = None


@dataclass(slots=True, eq=False)
class Job:
    """One submitted task; times are seconds since the dispatcher started."""

    number: int
    task: TaskFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    size: float
    intensity: float
    memory: float
    arrival: float
    ready: float
    future: Future[Any] = field(default_factory=lambda: TaskFuture())
    gpu_fraction: float = NAN
    shares: Sequence[Share] = ()
    status: int = 0  # as in Placements
    failed: bool = False  # it ran and raised
    attempts: int = 1
    device_intensity: float | None = None  # by which an emulated device is slow, if not the task's own
    is_measured: Sequence[bool] = ()  # by class: whether its task was timed there
    trains_policy: bool = True
    saved: Mapping[str, Any] | None = None  # attributes that the policy needs again for training
    error: BaseException | None = None  # why it was not sent, or not completed
    began: bool | None = None  # None: not asked yet
    trial: int = -1  # the class on which it runs although nothing is known of its task there
    pickled: Pickled | None = None  # arguments
    restores: int = 0  # of lost arguments
    options: CallOptions = DEFAULT_OPTIONS
    retries: int = 0  # left, of a call that raises or takes too long
    parents: tuple[int, ...] = ()  # numbers of the jobs whose results are its arguments
    predicted: Sequence[float] = ()  # seconds by class, when it was decided on
    was_trial: bool = False
    context: dict[str, Any] | None = None  # values of context variables that it takes along
    data: dict[str, int] | None = None  # bytes of its large arguments by the place where they are
    urgency: tuple[float, bool] = (0.0, False)  # what it waits before: all that has less of it

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of devices that may run it."""
        share = self.options.gpu_share
        return (
            self.task.kinds if share is None or 0.0 < share < 1.0 else self.task.kinds & {"gpu" if share else "cpu"}
        )

    @property
    def is_bound(self) -> bool:
        """Whether it may run on some devices only."""
        return self.options.device >= 0 or len(self.kinds) < len(KINDS)

    def find_urgency(self) -> tuple[float, bool]:
        """Return its priority, and whether it goes on with large results of others."""
        large = self.data and any(size >= MIN_SHARED and place != DRIVER for place, size in self.data.items())
        return self.options.priority, bool(large)

    @property
    def inputs(self) -> Sequence[StoredObject]:
        """The stored values among its arguments."""
        return self.pickled.inputs if self.pickled else ()

    def begin(self) -> bool:
        """Mark the future as running; False if it was cancelled before."""
        if self.began is None:
            self.began = self.future.set_running_or_notify_cancel()
        return self.began

    def create_call(self, share: Share, number: int, expected: float) -> Call:
        """Return the call that runs a share on its device."""
        function = self.task.serialize("gpu" if share.on_gpu else "cpu", share.part < 1.0)
        intensity = self.intensity if self.device_intensity is None else self.device_intensity
        pickle_arguments = self._pickle_whole if share.part == 1.0 else partial(self._pickle_part, share)
        return Call(
            number,
            share.device,
            function,
            pickle_arguments,
            intensity,
            expected,
            self.begin,
            timeout=self.options.timeout,
            nested=self.options.nested,
            tag=(self, share),
        )

    def _pickle_whole(self, objects: ObjectStore | None) -> Pickled:
        """Return the pickled arguments, which are kept: the job may be sent to several devices, one after another."""
        if self.pickled is None:
            self.pickled = serialize_arguments(self.args, self.kwargs, objects, self.context)
            if not self.task.can_split:
                self.args, self.kwargs = (), NO_KEYWORDS
        return self.pickled

    def _pickle_part(self, share: Share, objects: ObjectStore | None) -> Pickled:
        bounds = (0.0, self.gpu_fraction) if share.on_gpu else (self.gpu_fraction, 1.0)
        return serialize_arguments((*bounds, *self.args), self.kwargs, objects, self.context)

    def resolve(self) -> None:
        """Give the future its result and drop what is not needed any more; called when the job has ended."""
        answers = [share.answer for share in self.shares if share.answer is not None]
        origin = self._describe_origin() if len(answers) == 1 and answers[0].segments else None
        self.args, self.kwargs, self.pickled = (), NO_KEYWORDS, None
        for share in self.shares:
            share.answer = None
        if not self.begin() or self.future.done():
            return  # it was cancelled
        error, value = self.error or self._find_error(answers), None
        if error is None:
            try:
                value = _combine(self.task.combine_parts, answers, origin)
            except BaseException as raised:  # noqa: BLE001  # any exception belongs to the caller
                # Without this frame, which holds the future: the two would keep each other in memory.
                error = raised.with_traceback(raised.__traceback__ and raised.__traceback__.tb_next)
        if error is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(error)

    def _describe_origin(self) -> Origin | None:
        """Return how to run it again; None if its arguments were not kept."""
        if self.pickled is None:
            return None
        blob, segments, inputs = self.pickled
        features = self.size, self.intensity, self.memory
        sources = [(ref(each), each.origin) for each in inputs]
        return Origin(self.task, features, blob, list(map(ref, segments)), sources)

    def _find_error(self, answers: Sequence[Answer]) -> BaseException | None:
        failed = next((each for each in answers if each.outcome != VALUE), None)
        if failed is None:
            return None
        if failed.outcome in (ERROR, MISSING):
            return failed.error()
        if failed.outcome == CANCELLED:
            return CancelledError()
        return WorkerLostError(
            f"task '{self.task.name}' was tried {self.attempts} times and its worker died each time: "
            "run it by itself to see why"
        )


def create_job_again(origin: Origin | None, number: int, now: float) -> Job | None:
    """Return the job that makes a lost value once more; None if its own arguments are gone."""
    segments = [] if origin is None else [each() for each in origin.segments]
    kept = [each for each in segments if each is not None and each.exists]
    if origin is None or len(kept) < len(segments):
        return None
    inputs = [known() or StoredObject(b"", (), source) for known, source in origin.inputs]
    pickled = Pickled(origin.blob, kept, inputs)
    return Job(number, origin.task, (), {}, *origin.features, now, now, pickled=pickled)


def _combine(combine_parts: Function, answers: Sequence[Answer], origin: Origin | None) -> Any:
    """Return the value of a job; a large one stays where it is."""
    if len(answers) == 1:
        only = answers[0]
        return StoredObject(only.payload, only.segments, origin, only.place) if only.segments else only.value()
    return combine_parts(*(each.value() for each in answers))


class TaskFuture(Future[Any]):
    """The future of a task; a large result stays in the store until somebody asks for it."""

    _loaded: Any = None
    number = -1  # of its job
    collected_by = 0  # the thread that is collecting the graph of its call, which is not submitted yet

    def result(self, timeout: float | None = None) -> Any:
        """Return the result; the same object every time."""
        if self.collected_by and self.collected_by == get_ident():
            raise SchedulerError(
                "this call is submitted at the end of its graph's block: ask for its result after that"
            )
        value = super().result(timeout)
        if type(value) is not StoredObject:
            return value
        with self._condition:
            if self._loaded is None:
                self._loaded = value.load()
            return self._loaded

    def refer(self) -> Any:
        """Return the result of a future that is done; a reference to it if it is in the store."""
        return super().result()


def note_number(job: Job) -> None:
    """Let the future of a job know its number."""
    if type(job.future) is TaskFuture:
        job.future.number = job.number


def serialize_arguments(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    objects: ObjectStore | None = None,
    context: dict[str, Any] | None = None,
) -> Pickled:
    """Pickle arguments; plain ones the quick way, large ones into the store if there is one."""
    if not kwargs and not context and are_plain(args):
        blob = pickle.dumps((args, kwargs), protocol=5)
        return Pickled(b"", [objects.put([blob])]) if objects and len(blob) >= MIN_BUFFER else Pickled(blob)
    message = (args, kwargs, context) if context else (args, kwargs)
    return Pickled(serialize(message)) if objects is None else objects.pickle_arguments(message)


def serialize(value: Any) -> bytes:
    """Pickle a value, objects of the main script included, which a worker could not import."""
    if type(value) in PLAIN_TYPES:
        return pickle.dumps(value, protocol=5)
    import cloudpickle

    if type(value) in _FUNCTION_TYPES:
        if named := find_pickled_name(value):
            return named
        if type(value) is FunctionType:
            return _serialize_by_value(value)
    blob: bytes = cloudpickle.dumps(value, protocol=5)
    return blob


def find_pickled_name(function: Any) -> bytes:
    """Return a function pickled by its name; nothing if it has none that a worker could import."""
    if type(function) not in _FUNCTION_TYPES or function.__module__ == "__main__":
        return b""
    import cloudpickle

    if cloudpickle.list_registry_pickle_by_value():
        return b""
    try:
        return _pickle_name(function)
    except (pickle.PicklingError, AttributeError):
        return b""  # a closure must be pickled by value


@lru_cache(maxsize=1024)
def _pickle_name(function: Any) -> bytes:
    """Pickle a function of a module, as cloudpickle would, but faster; what raises an error is not kept alive."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        raise pickle.PicklingError("a method takes its object along, which may change")
    return pickle.dumps(function, protocol=5)


class _Serialized(NamedTuple):
    """A function by value, and what it referred to when it was pickled."""

    blob: bytes
    referents: list[Any]


_serialized: WeakKeyDictionary[FunctionType, _Serialized] = WeakKeyDictionary()


def _serialize_by_value(function: FunctionType) -> bytes:
    """Pickle a function with the globals that it names; again only if one of them is another object by now."""
    known, referents = _serialized.get(function), _find_referents(function)
    if known is None or not all(map(_is_same, known.referents, referents)):
        import cloudpickle

        known = _Serialized(cloudpickle.dumps(function, protocol=5), list(map(_refer_weakly, referents)))
        _serialized[function] = known
    return known.blob


def _find_referents(function: FunctionType) -> list[Any]:
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != _EMPTY_CELL]
    names = [function.__globals__.get(name) for name in _find_names(function.__code__)]
    return [*names, *cells, function.__code__, function.__defaults__, function.__kwdefaults__]


@lru_cache(maxsize=1024)
def _find_names(code: CodeType) -> tuple[str, ...]:
    """Return the names of globals and attributes in a function and in those that it defines."""
    inner = (_find_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return tuple(dict.fromkeys((*code.co_names, *chain.from_iterable(inner))))


def _refer_weakly(value: Any) -> Any:
    """Return a weak reference where possible: the cache must not keep anything alive."""
    try:
        return ref(value)
    except TypeError:
        return value


def _is_same(known: Any, value: Any) -> bool:
    return known is value or (type(known) is ref and known() is value)


def serialize_error(error: BaseException) -> bytes:
    """Pickle an exception with its traceback; one that cannot be pickled is replaced by its name and message."""
    text = "".join(traceback.format_exception(error))
    try:
        error.__traceback__ = None
        blob = serialize((error, text))
        if isinstance(pickle.loads(blob)[0], BaseException):  # noqa: S301  # our own bytes
            return blob
    except BaseException:  # noqa: BLE001, S110  # methods of a third party may raise anything; what is sent says so
        pass
    message = "".join(traceback.format_exception_only(error)).strip()  # copes with a message that cannot be made
    return serialize((SchedulerError(f"{message} (it cannot be pickled itself)"), text))
