"""One loop, two speeds: bind a policy's `choose` into a loop, compiled if it is marked `@compiled`.

The same code object runs either way. Compiled loops are kept on disk under a digest of the code of the
loop, of the policy and of every function they call, so an edited policy is never run from a stale file.
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
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from hybrid_scheduler.errors import PolicyError

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]

# Without Numba's reference counts: the loop owns all arrays and allocates none, and counting them for every
# task took twenty times as long as the scheduling itself.
_FAST = {"error_model": "numpy", "nogil": True, "_nrt": False}
_COUNTED = {"error_model": "numpy", "nogil": True}

on_compile: list[Callable[[str], None]] = []
"""Called with a policy's name before its loop is compiled for the first time; front ends add themselves."""


def compiled(function: F) -> F:
    """Mark `choose` or `plan` for compilation; in it, `self` offers the numbers and arrays of the object."""
    function.__dict__["__compiled__"] = True
    return function


def jitable(function: F) -> F:
    """Let compiled policies and loops call a function that allocates nothing; in Python it stays plain."""
    from numba.extending import register_jitable

    registered: F = register_jitable(forceinline=True, **_FAST)(function)
    return registered


def rarely(function: F) -> F:
    """Do the same for a function off the beaten track: its code stays out of the way of what is always run."""
    from numba.extending import register_jitable

    registered: F = register_jitable(**_FAST)(function)
    return registered


_cores: list[int] = []


def cores() -> int:
    """Return how many cores this process may use at once."""
    return _cores[-1] if _cores else os.cpu_count() or 1


def use_cores(count: int) -> None:
    """Use so many cores from now on: processes that share a machine take one each."""
    _cores.append(count)


def in_threads(work: Callable[[int, int], None], count: int, least: int = 200_000) -> None:
    """Do compiled work on rows `first` … `last - 1`, on all cores if there are many rows."""
    workers = min(cores(), count // least)
    if workers < 2:
        work(0, count)
        return
    cuts = [count * number // workers for number in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, cuts[:-1], cuts[1:]))


def is_compiled(function: Function) -> bool:
    """Whether a function or method is marked `@compiled`."""
    return bool(getattr(function, "__compiled__", False))


def interpreted_loop(loop: Function, decide: Function) -> Function:
    """Return the loop as plain Python with `decide(self, task, view)` bound in."""
    return FunctionType(loop.__code__, {**loop.__globals__, "decide": decide}, loop.__name__)


_loops: dict[tuple[str, tuple[str, ...]], tuple[Function, type]] = {}


def compiled_loop(loop: Function, decide: Function, owner: object) -> tuple[Function, Any]:
    """Return the compiled loop for `decide`, and what stands for `self` in it."""
    state = {key: value for key, value in vars(owner).items() if _is_plain(key, value)}
    key = (f"{type(owner).__name__}_{loop.__name__}_{_fingerprint_once(loop, decide)}", tuple(state))
    if key not in _loops:
        _loops[key] = _specialise(loop, decide, *key)
    function, self_type = _loops[key]
    return function, self_type(*(_frozen(value) for value in state.values()))


def _is_plain(key: str, value: object) -> bool:
    return not key.startswith("_") and isinstance(value, bool | int | float | np.ndarray | np.generic)


def _frozen(value: Any) -> Any:
    # One type per kind of number: 1 and 1.0 would otherwise be two compilations.
    return value if isinstance(value, np.ndarray | bool) else value.item() if isinstance(value, np.generic) else value


def _specialise(loop: Function, decide: Function, name: str, state: tuple[str, ...]) -> tuple[Function, type]:
    fields = hashlib.sha256(" ".join(state).encode()).hexdigest()[:8]
    marker = cache_directory() / f"{name}_{fields}.py"
    if not marker.exists():
        for listener in on_compile:
            listener(name.split("_")[0])
        marker.write_text("# Marks compiled loops; safe to delete.\n", encoding="utf-8")
    # Numba stores types by reference, so the type of `self` needs a module that can be looked up by name.
    module = ModuleType(f"hybrid_scheduler_loop_{marker.stem}")
    sys.modules[module.__name__] = module
    self_type = namedtuple("Self", state, module=module.__name__)  # type: ignore[misc]  # fields known at run time only
    module.__dict__["Self"] = self_type
    fast = _jit(loop, decide, marker, module.__name__, _FAST)
    slow = _jit(loop, decide, marker.with_name(f"{marker.stem}_counted.py"), module.__name__, _COUNTED)
    variants = [slow] if loop.__name__ == "walk_batches" else [fast, slow]  # batches are gathered into new arrays
    return _first_that_compiles(variants, decide), self_type


def _jit(loop: Function, decide: Function, marker: Path, module: str, options: dict[str, Any]) -> Function:
    from numba import njit

    marker.touch()
    # Whatever module the policy comes from (a notebook, exec), the copy has one that can be found again.
    policy = FunctionType(decide.__code__, decide.__globals__, decide.__name__, None, decide.__closure__)
    policy.__module__ = module
    jitted = njit(**options)(policy)
    code = loop.__code__.replace(co_filename=str(marker))
    bound = FunctionType(code, {**loop.__globals__, "decide": jitted}, loop.__name__)
    bound.__module__ = module
    function: Function = njit(cache=True, **options)(bound)
    return function


def _first_that_compiles(variants: list[Function], decide: Function) -> Function:
    """Policies that allocate arrays need reference counts; all others do without."""
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
    """Compile for these arguments or load from disk; a file that cannot be read is replaced."""
    from numba import typeof
    from numba.core.errors import NumbaError

    signature = tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]  # Numba's
    try:
        function.compile(signature)
    except (NumbaError, NotImplementedError):
        raise
    except Exception:  # noqa: BLE001  # unpickling a torn or foreign file can raise anything
        marker = Path(function.py_func.__code__.co_filename)
        for stale in (marker.parent / "__pycache__").glob(f"{marker.stem}.*"):
            stale.unlink(missing_ok=True)
        function.compile(signature)


def _not_compilable(decide: Function, error: Exception) -> PolicyError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "During", "File", "<source", "-", "^"))]
    reason = telling[0][:120] if telling else type(error).__name__
    return PolicyError(
        f"{decide.__qualname__} cannot be compiled ({reason}): keep changing state in NumPy arrays set in __init__, "
        "call only functions that Numba knows, or remove @compiled"
    )


def cache_directory() -> Path:
    """Return where compiled loops are kept: HMS_CACHE_DIR, the user's cache, or a temporary folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    wanted = Path(os.environ.get("HMS_CACHE_DIR") or Path(home) / "hybrid-ml-scheduler")
    spare = Path(tempfile.gettempdir()) / f"hybrid-ml-scheduler-{_user()}"
    for folder in (wanted, spare):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and (folder == wanted or _ours_alone(folder)):
            return folder
    raise PolicyError(f"no writable folder for compiled loops: set HMS_CACHE_DIR (tried {wanted})")


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0  # Windows gives every user a temporary folder of his own


def _ours_alone(folder: Path) -> bool:
    """Whether nobody else could have put files there: what is kept in it will be run."""
    found = folder.lstat()
    return found.st_uid in (_user(), 0) and not found.st_mode & 0o022 and not folder.is_symlink()


@lru_cache(maxsize=256)
def _fingerprint_once(loop: Function, decide: Function) -> str:
    return fingerprint(loop, decide)


def fingerprint(*functions: Function) -> str:
    """Return a digest of functions and of all that they call."""
    digest = hashlib.sha256(f"{_FAST}{numba_version()}".encode())
    for part in _parts(list(functions), set()):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def numba_version() -> str:
    """Return the version of Numba, whose files another version cannot read."""
    from importlib.metadata import version

    return version("numba")


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
