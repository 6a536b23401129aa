"""Binds a scheduler's method into a loop, compiled by Numba if it is marked `@compiled`, else interpreted.

Both run the same code object and give bit-identical results. Compiled loops are cached on disk under a digest of the
loop, the method and every function they call, so an edited scheduler never runs from a stale file.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from hybrid_scheduler.errors import PolicyError

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]

_COUNTED: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# Without Numba's reference counts: the loop owns all arrays and allocates none, and counting them for every
# task took twenty times as long as the scheduling itself.
_FAST = {**_COUNTED, "_nrt": False}

on_compile: list[Callable[[str], None]] = []
"""Listeners, called with a scheduler's name before its loop is compiled for the first time."""


def compiled(function: F) -> F:
    """Mark `choose` or `plan` for compilation; its `self` then has only the public numbers and arrays."""
    function.__dict__["__compiled__"] = True
    return function


def jitable(function: F) -> F:
    """Make a function that allocates nothing callable from compiled code, inlined; Python calls it as it is."""
    from numba.extending import register_jitable

    registered: F = register_jitable(forceinline=True, **_FAST)(function)
    return registered


def no_inline(function: F) -> F:
    """Do the same without inlining, for rarely executed code that would bloat the hot path."""
    from numba.extending import register_jitable

    registered: F = register_jitable(**_FAST)(function)
    return registered


def jit(function: F) -> F:
    """Compile a numeric kernel for good; cached on disk beside its module, runs without the GIL."""
    from numba import njit

    kernel: F = njit(cache=True, **_COUNTED)(function)
    return kernel


_cores: list[int] = []


def core_count() -> int:
    """Return the number of threads for parallel work: the limit that was set, else the cores of the machine."""
    return _cores[-1] if _cores else os.cpu_count() or 1


def limit_cores(count: int) -> None:
    """Limit parallel work from now on: processes that share a machine take one core each."""
    _cores.append(count)


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


def interpret_loop(loop: Function, decide: Function) -> Function:
    """Return the loop as plain Python with `decide(self, task, view)` bound in."""
    return FunctionType(loop.__code__, {**loop.__globals__, "decide": decide}, loop.__name__)


_loops: dict[tuple[str, tuple[str, ...]], tuple[Function, type]] = {}


def compile_loop(loop: Function, decide: Function, owner: object, *, allocates: bool = False) -> tuple[Function, Any]:
    """Return the compiled loop for `decide`, and the tuple that stands for `self` in it.

    `allocates` says that the loop itself creates arrays and needs reference counts.
    """
    kinds = bool | int | float | np.ndarray | np.generic
    state = {name: each for name, each in vars(owner).items() if name[0] != "_" and isinstance(each, kinds)}
    key = (f"{type(owner).__name__}_{loop.__name__}_{fingerprint(loop, decide)}", tuple(state))
    if key not in _loops:
        _loops[key] = _specialise(loop, decide, *key, allocates)
    function, self_type = _loops[key]
    # NumPy's scalars become Python's: each would be a type of its own and compile the loop again.
    return function, self_type(*(each.item() if isinstance(each, np.generic) else each for each in state.values()))


def _specialise(
    loop: Function, decide: Function, name: str, state: tuple[str, ...], allocates: bool
) -> tuple[Function, type]:
    fields = hashlib.sha256(" ".join(state).encode()).hexdigest()[:8]
    marker = cache_directory() / f"{name}_{fields}.py"
    if not marker.exists():
        for listener in on_compile:
            listener(name.split("_")[0])
        marker.write_text("# Marks compiled loops; safe to delete.\n", encoding="utf-8")
    # Numba pickles types by reference, so the type of `self` needs a module that can be imported by name.
    module = ModuleType(f"hybrid_scheduler_loop_{marker.stem}")
    sys.modules[module.__name__] = module
    self_type = namedtuple("Self", state, module=module.__name__)  # type: ignore[misc]  # fields known at run time only
    module.__dict__["Self"] = self_type
    fast = _jit(loop, decide, marker, module.__name__, _FAST)
    slow = _jit(loop, decide, marker.with_name(f"{marker.stem}_counted.py"), module.__name__, _COUNTED)
    return _first_that_compiles([slow] if allocates else [fast, slow], decide), self_type


def _jit(loop: Function, decide: Function, marker: Path, module: str, options: dict[str, Any]) -> Function:
    from numba import njit

    marker.touch()
    # Wherever the method was defined (a notebook, exec), its copy has a module that can be imported.
    policy = FunctionType(decide.__code__, decide.__globals__, decide.__name__, None, decide.__closure__)
    policy.__module__ = module
    jitted = njit(**options)(policy)
    code = loop.__code__.replace(co_filename=str(marker))
    bound = FunctionType(code, {**loop.__globals__, "decide": jitted}, loop.__name__)
    bound.__module__ = module
    function: Function = njit(cache=True, **options)(bound)
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
