"""Binds a scheduler's method into a loop, compiled by Numba if it is marked `@compiled`, else interpreted.

Both run the same code object and give bit-identical results. Compiled loops are cached on disk under a digest of the
loop, the method and every function they call, so an edited scheduler never runs from a stale file. So are functions
that loops share: for a new scheduler, only its own lines and the loop's are compiled.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, update_wrapper, wraps
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from hybrid_scheduler.errors import PolicyError

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]
Methods = Mapping[str, Function]
"""A scheduler's methods by the names under which a loop calls them."""

_COUNTED: dict[str, Any] = {"error_model": "numpy", "nogil": True, "forceinline": False}
# Without Numba's reference counts: the loop owns all arrays and allocates none, and counting them for every
# task took twenty times as long as the scheduling itself.
_FAST = {**_COUNTED, "_nrt": False}
_INLINED = {"forceinline": True}  # a view is some 150 machine words: passing them takes longer than most decisions
# Entries that nobody uses: a loop is called from Python alone, a method and what it calls from loops alone.
_FROM_PYTHON: dict[str, Any] = {"no_cfunc_wrapper": True}
_FROM_LOOP: dict[str, Any] = {**_FROM_PYTHON, "no_cpython_wrapper": True}
_SELF = "SchedulerState"  # how the name of every type begins that stands for a scheduler in compiled code

TINY_BLOCK = 8
"""Tasks × devices that plain Python has decided on before a compiled loop is entered: its arguments are many."""
SMALL_BLOCK = 100
"""Tasks × devices below which not even a loop from the cache is loaded at once: a short run is over before."""
MEDIUM_BLOCK, RENT_SECONDS = 2000, 0.3
"""Rows of a kernel's input that plain Python takes while that has spent less CPU time than compiling would."""
LOAD_KERNEL_SECONDS = 0.005
"""The same where Numba is loaded and a kernel was compiled before: what reading it from the disk takes."""
LARGE_BLOCK = 100_000
"""Tasks × devices for which a loop is compiled at once."""
COMPILE_SECONDS, LOAD_SECONDS = 3.0, 0.3
"""What a loop costs to compile or to load, and what is spent on interpreting it before (ski rental): seconds of CPU
time, as on a busy machine compiling takes longer, too."""

on_compile: list[Callable[[str], None]] = []
"""Listeners, called with a scheduler's name before its loop is compiled for the first time."""


def compiled(function: F) -> F:
    """Mark `choose` or `plan` for compilation; its `self` then has only the public numbers and arrays."""
    function.__dict__["__compiled__"] = True
    return function


_unregistered: list[tuple[Function, dict[str, Any]]] = []
_numba: list[ModuleType] = []  # once it is loaded
_loading = threading.RLock()


def load_numba() -> Any:
    """Return Numba, which knows all functions that compiled code may call.

    Loading it takes as long as everything else that a short program needs, so it is left until something is compiled.
    """
    import numba
    from numba.extending import register_jitable

    with _loading:  # who comes second must find all of them registered
        _numba[:] = [numba]
        while _unregistered:
            function, options = _unregistered.pop()
            if options.get("_nrt", True):  # its callers say whether it counts references: no two files may be alike
                register_jitable(**options)(function)
            else:
                _register_with_cache(function, options)
    return numba


def _register_with_cache(function: Function, options: dict[str, Any]) -> None:
    """Let compiled code call a function; compiled for types that all schedulers share, it is kept on disk."""
    from numba import extending

    overload: Any = extending.overload  # its types leave some of its options out

    @overload(function, jit_options={**options, "cache": True}, strict=False)
    def call_from_disk(*types: Any, **named: Any) -> Function | None:
        return _locate_in_cache(function, options) if all(map(_is_shared, (*types, *named.values()))) else None

    @overload(function, jit_options=options, strict=False)
    def call(*types: Any, **named: Any) -> Function | None:
        return None if all(map(_is_shared, (*types, *named.values()))) else function


def _is_shared(kind: Any) -> bool:
    """Whether a type is known to every process: no function, and no `self` of a scheduler, whose loop is cached."""
    from numba import types

    if isinstance(kind, types.BaseTuple):
        own = getattr(getattr(kind, "instance_class", None), "__name__", "").startswith(_SELF)
        return not own and all(map(_is_shared, cast("Iterable[Any]", kind)))
    return isinstance(kind, types.Number | types.Boolean | types.NoneType | types.Array)


def _locate_in_cache(function: Function, options: dict[str, Any]) -> Function:
    """Return a function as if it was written in a file of the cache, beside which Numba keeps what it compiles."""
    marker = _shared_folder() / f"{function.__name__}_{fingerprint(function)}_{_digest(repr(options))}.py"
    _mark(marker)
    code = function.__code__.replace(co_filename=str(marker))
    located = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    located.__module__ = function.__module__
    return located


def _shared_folder() -> Path:
    return cache_directory() / "functions"


def _register(function: F, **options: Any) -> F:
    _unregistered.append((function, options))
    if _numba:
        load_numba()
    return function


def jitable(function: F) -> F:
    """Make a function that allocates nothing callable from compiled code, inlined; Python calls it as it is."""
    return _register(function, **(_FAST | _INLINED | _FROM_LOOP))


def no_inline(function: F) -> F:
    """Do the same without inlining, for rarely executed code that would bloat the hot path."""
    return _register(function, **(_FAST | _FROM_LOOP))


def inline(function: F) -> F:
    """Inline before compiling: what returns arrays must count references as its caller does, or not at all."""
    return _register(function, inline="always")


def counted(function: F) -> F:
    """Make a function that allocates arrays callable from compiled code."""
    return _register(function, error_model="numpy")


def jit(function: F) -> F:
    """Compile a numeric kernel for good; cached on disk beside its module, runs without the GIL."""
    return cast("F", _MachineCode(function, _COUNTED))


def jit_late(function: F) -> F:
    """Do the same for one that Python alone calls; until a long input comes, short ones are left to plain Python."""
    return _run_plain_first(function, SMALL_BLOCK)


def jit_later(function: F) -> F:
    """Do the same for one whose work is some steps a row: plain Python runs it as long as compiling would take."""
    return _run_plain_first(function, MEDIUM_BLOCK)


def _run_plain_first(function: F, most: int) -> F:
    kernels: list[Function] = []
    spent, next_look = 0.0, LOAD_KERNEL_SECONDS

    def is_worth_it() -> bool:
        nonlocal next_look
        if spent < RENT_SECONDS and spent >= next_look:
            next_look = 2 * spent
            return _is_kept(function)
        return spent >= RENT_SECONDS

    @wraps(function)
    def run(*arguments: Any) -> Any:
        nonlocal spent
        if not kernels:
            rows = len(arguments[0])
            if rows <= SMALL_BLOCK:
                return function(*arguments)
            if rows <= most and not is_worth_it():
                begin = time.thread_time()
                with np.errstate(all="ignore"):  # as machine code does
                    result = function(*arguments)
                spent += time.thread_time() - begin
                return result
            kernels.append(jit(function))
        return kernels[0](*arguments)

    return cast("F", run)


def _is_kept(function: Function) -> bool:
    """Whether Numba is loaded, and keeps what it compiled of a kernel beside the kernel's module."""
    file, line = Path(function.__code__.co_filename), function.__code__.co_firstlineno
    kept = (file.parent / "__pycache__").glob(f"{file.stem}.{function.__qualname__}-{line}.*.nbi")
    return bool(_numba) and any(kept)


def kernel(function: F) -> F:
    """Do the same for one that allocates nothing: compiled loops and plain Python call the same machine code."""
    return cast("F", _MachineCode(function, _FAST))


class _MachineCode:
    """A kernel that is compiled, or read from the disk, when Python or compiled code first calls it."""

    def __init__(self, function: Function, options: Mapping[str, Any]) -> None:
        self.py_func, self._options = function, options  # under the name that Numba gives it
        self._compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self._compile())(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes it for where compiled code names it."""
        return (self._compiled or self._compile())._numba_type_

    def _compile(self) -> Any:
        with _loading:  # one for all threads
            if self._compiled is None:
                njit = load_numba().njit
                self._compiled = njit(cache=True, **self._options, **_FROM_PYTHON)(self.py_func)
        return self._compiled


_cores: list[int] = []


def core_count() -> int:
    """Return the number of threads for parallel work: the limit that was set, else the cores of the machine."""
    return _cores[-1] if _cores else os.cpu_count() or 1


def limit_cores(count: int) -> None:
    """Limit parallel work from now on: processes that share a machine take one core each."""
    _cores.append(count)


_patience: list[float] = []


def interpret_longer(seconds: float) -> None:
    """Interpret loops for so long from now on before they are compiled: this process is known to run little."""
    _patience.append(seconds)


def run_in_threads(work: Callable[[int, int], None], count: int, least: int = 200_000) -> None:
    """Call `work(first, last)` on all rows, in parallel parts if each has at least `least` rows."""
    workers = min(core_count(), count // least)
    if workers < 2:
        work(0, count)
        return
    cuts = [count * number // workers for number in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, cuts[:-1], cuts[1:]))


def is_compiled(function: Function) -> bool:
    """Whether a function or method is marked `@compiled`."""
    return bool(getattr(function, "__compiled__", False))


def interpret_loop(loop: Function, methods: Methods) -> Function:
    """Return the loop as plain Python with the scheduler's methods bound in, each under the name that calls it."""
    return FunctionType(loop.__code__, {**loop.__globals__, **methods}, loop.__name__)


_loops: dict[tuple[str, tuple[str, ...]], tuple[Function, type]] = {}


def compile_loop(loop: Function, methods: Methods, owner: object, *, allocates: bool = False) -> tuple[Function, Any]:
    """Return the compiled loop for a scheduler's methods, and the tuple that stands for `self` in it.

    `allocates` says that the loop itself creates arrays and needs reference counts.
    """
    state = _public_state(owner)
    key = _name_loop(loop, methods, owner, state)
    if key not in _loops:
        _loops[key] = _specialise(loop, methods, *key, allocates)
    function, self_type = _loops[key]
    return function, self_type(*_plain_values(state))


def freeze(owner: object) -> Any:
    """Return an object's public numbers and arrays as a named tuple, for a compiled policy that asks another one."""
    state = _public_state(owner)
    return _frozen_type(type(owner).__name__, tuple(state) or ("_",))(*(_plain_values(state) or [0]))


@lru_cache(maxsize=256)
def _frozen_type(name: str, fields: tuple[str, ...]) -> Any:
    return _importable_tuple(f"hybrid_scheduler_state_{name}_{_digest(' '.join(fields))}", fields)


def _importable_tuple(module_name: str, fields: tuple[str, ...]) -> Any:
    """Return the type of a `self`: Numba pickles types by reference, so it needs a module to be found in by name.

    No two have one name: Numba looks compiled code up by the names of tuples and the types of their fields, and asks
    Python for every argument, which takes half a millisecond, wherever a tuple is not the one that it met first.
    """
    module, name = sys.modules.setdefault(module_name, ModuleType(module_name)), f"{_SELF}_{_digest(module_name)}"
    built = namedtuple(name, fields, module=module_name, rename=True)  # type: ignore[misc]  # fields known at run time only
    module.__dict__[name] = built
    return built


def _plain_values(state: Mapping[str, Any]) -> list[Any]:
    """Return values with NumPy's scalars as Python's: each would be a type of its own and compile the loop again."""
    return [each.item() if isinstance(each, np.generic) else each for each in state.values()]


_spent: dict[tuple[str, tuple[str, ...]], float] = {}
_next_look: dict[tuple[str, tuple[str, ...]], float] = {}  # what has to be spent before the cache is searched again


def interpret_while_cheap(
    loop: Function, methods: Methods, bound: Methods, owner: object, work: int
) -> Function | None:
    """Return the loop as plain Python if that is cheaper for so many tasks × devices, else None: compile it.

    A tiny block is decided before its arguments are unpacked. A larger one is interpreted until that has taken as
    long as compiling the loop, or as loading it from the cache. For the policies of this package both are
    bit-identical, as the conformance suite proves; others are compiled as they ask for.
    """
    if not type(owner).__module__.startswith(f"{__package__.partition('.')[0]}.") or work > LARGE_BLOCK:
        return None
    interpreted = interpret_loop(loop, bound)
    if work <= TINY_BLOCK:
        return interpreted
    key = _name_loop(loop, methods, owner, _public_state(owner))
    if key in _loops or _is_worth_it(key, work):
        return None

    def run(*arguments: Any) -> Any:
        begin = time.thread_time()
        fault = interpreted(*arguments)
        _spent[key] = _spent.get(key, 0.0) + time.thread_time() - begin
        return fault

    return run


def _is_worth_it(key: tuple[str, tuple[str, ...]], work: int) -> bool:
    """Whether a loop has been interpreted for so long that it is compiled, or loaded if an earlier run did that."""
    spent = _spent.get(key, 0.0)
    if spent > (_patience[-1] if _patience else COMPILE_SECONDS):
        return True
    if work <= SMALL_BLOCK and (spent <= LOAD_SECONDS or spent < _next_look.get(key, 0.0)):
        return False
    _next_look[key] = spent + LOAD_SECONDS  # another process may compile it meanwhile, but not between two blocks
    return _is_cached(_marker(*key))


def _is_cached(marker: Path) -> bool:
    """Whether a loop has been compiled: the marker alone says that somebody began to."""
    return marker.exists() and any((marker.parent / "__pycache__").glob(f"{marker.stem}*.nbi"))


_KINDS = (bool, int, float, np.ndarray, np.generic)


def _public_state(owner: object) -> dict[str, Any]:
    return {
        name: each
        for name, each in vars(owner).items()
        if name[0] != "_" and (isinstance(each, _KINDS) or hasattr(type(each), "_fields"))
    }


def _name_loop(
    loop: Function, methods: Methods, owner: object, state: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]]:
    return f"{type(owner).__name__}_{loop.__name__}_{fingerprint(loop, *methods.values())}", tuple(state)


def _marker(name: str, state: tuple[str, ...]) -> Path:
    return cache_directory() / f"{name}_{_digest(' '.join(state))}.py"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _mark(marker: Path) -> None:
    marker.parent.mkdir(exist_ok=True)
    if not marker.exists():
        marker.write_text("# Marks compiled code; safe to delete.\n", encoding="utf-8")


def _specialise(
    loop: Function, methods: Methods, name: str, state: tuple[str, ...], allocates: bool
) -> tuple[Function, type]:
    marker = _marker(name, state)
    if not marker.exists():
        for listener in on_compile:
            listener(name.split("_")[0])
    module = f"hybrid_scheduler_loop_{marker.stem}"
    self_type = _importable_tuple(module, state)
    fast = _jit(loop, methods, marker, module, _FAST)
    slow = _jit(loop, methods, marker.with_name(f"{marker.stem}_counted.py"), module, _COUNTED)
    return _first_that_compiles([slow] if allocates else [fast, slow], next(iter(methods.values()), loop)), self_type


def _jit(loop: Function, methods: Methods, marker: Path, module: str, options: dict[str, Any]) -> Function:
    njit = load_numba().njit
    _mark(marker)
    jitted: dict[Function, Function] = {}  # one may have two names, and is compiled once
    for method in methods.values():
        # Wherever the method was defined (a notebook, exec), its copy has a module that can be imported.
        policy = FunctionType(method.__code__, method.__globals__, method.__name__, None, method.__closure__)
        policy.__module__ = module
        jitted[method] = jitted.get(method) or njit(**(options | _INLINED | _FROM_LOOP))(policy)
    code = loop.__code__.replace(co_filename=str(marker))
    named = {name: jitted[method] for name, method in methods.items()}
    bound = FunctionType(code, {**loop.__globals__, **named}, loop.__name__)
    bound.__module__ = module
    function: Function = njit(cache=True, **options, **_FROM_PYTHON)(bound)
    return function


def _first_that_compiles(variants: list[Function], decide: Function) -> Function:
    """Return a loop that picks its variant at the first call: methods that allocate arrays need reference counts."""
    from numba.core.errors import NumbaError

    chosen: list[Function] = []

    def run(*arguments: Any) -> Any:
        errors: list[Exception] = []
        for function in variants if not chosen else ():
            try:
                _compile(function, arguments)
            except (NumbaError, NotImplementedError) as error:  # the latter: no code for assigning to self
                errors.append(error)
            else:
                chosen.append(function)
                break
        if not chosen:
            raise _not_compilable(decide, errors[-1]) from errors[-1]
        return chosen[0](*arguments)

    return run


def _compile(function: Any, arguments: tuple[Any, ...]) -> None:
    """Compile for these arguments or load from the cache; an unreadable file is replaced."""
    from numba import typeof
    from numba.core.errors import NumbaError

    signature = tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]  # Numba's
    try:
        function.compile(signature)
    except (NumbaError, NotImplementedError):
        raise
    except Exception:  # noqa: BLE001  # unpickling a damaged file can raise anything
        marker = Path(function.py_func.__code__.co_filename)
        for stale in (marker.parent / "__pycache__").glob(f"{marker.stem}.*"):
            stale.unlink(missing_ok=True)
        shutil.rmtree(_shared_folder() / "__pycache__", ignore_errors=True)  # nothing says which file it was
        function.compile(signature)


def _not_compilable(decide: Function, error: Exception) -> PolicyError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("Failed in", "During", "File", "<source", "-", "^"))]
    reason = useful[0][:120] if useful else type(error).__name__
    return PolicyError(
        f"{decide.__qualname__} cannot be compiled ({reason}): keep changing state in NumPy arrays set in __init__, "
        "call only functions that Numba knows, or remove @compiled"
    )


def cache_directory() -> Path:
    """Return the folder of compiled loops: HMS_CACHE_DIR, the user's cache, or a private temporary folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    wanted = Path(os.environ.get("HMS_CACHE_DIR") or Path(home) / "hybrid-ml-scheduler")
    fallback = Path(tempfile.gettempdir()) / f"hybrid-ml-scheduler-{_user_id()}"
    for folder in (wanted, fallback):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and (folder == wanted or _is_private(folder)):
            return folder
    raise PolicyError(f"no writable folder for compiled loops: set HMS_CACHE_DIR (tried {wanted})")


def _user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0  # Windows has a temporary folder per user


def _is_private(folder: Path) -> bool:
    """Whether no other user could have written there: cached files are executed."""
    found = folder.lstat()
    return found.st_uid in (_user_id(), 0) and not found.st_mode & 0o022 and not folder.is_symlink()


@lru_cache(maxsize=256)
def fingerprint(*functions: Function) -> str:
    """Return a digest of functions and of all that they call."""
    digest = hashlib.sha256(f"{_FAST}{version('numba')}".encode())  # another Numba cannot read the files
    for part in _parts(list(functions), set()):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _parts(functions: list[Function], seen: set[int]) -> Iterator[str]:
    for function in functions:
        plain = getattr(function, "py_func", function)
        code = getattr(plain, "__code__", None)
        if code is None or id(code) in seen:
            continue
        seen.add(id(code))
        yield from _code_parts(code)
        names = {name: plain.__globals__.get(name) for name in sorted(_names(code))}
        names |= {
            f"{n}'": cell.cell_contents for n, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True)
        }
        yield from (f"{name}={value!r};" for name, value in names.items() if isinstance(value, int | float | str))
        yield from _parts([value for value in names.values() if callable(value)], seen)


def _code_parts(code: CodeType) -> Iterator[str]:
    yield f"{code.co_name}:{code.co_code.hex()}:{code.co_names}:"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield f"{constant!r};"


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
