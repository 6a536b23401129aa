"""Opens a file, packed or not, as a stream of its bytes with a budget: what unpacks to too much is refused."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.workloads.formats import memory

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
HEAD = 65_536
"""Bytes from which a format must tell itself."""
MOST_UNPACKED = 4 << 30
"""Bytes that a packed file may unpack to, unless `HMS_MOST_UNPACKED` says otherwise."""
MOST_WHOLE = 4 << 30
"""Bytes of a file that has to be read in one piece, as JSON has, if memory allows."""
PART = 16 << 20
"""Bytes of a packed file that are unpacked between two looks at the memory that is left."""
MOST_RATIO, SMALL = 200, 64 << 20
"""How many times its size a file may unpack to, once that is more than `SMALL` bytes."""


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file as a stream of its bytes, unpacked if it is gzip or zstd, whatever its name."""
    with _raw(path) as file:
        start = file.peek(4)[:4]
        if not start.startswith((GZIP, ZSTD)):
            yield file
            return
        with closing(_unpacking(file, start)) as unpacked:
            yield io.BufferedReader(_Budgeted(path, unpacked, os.fstat(file.fileno()).st_size), 1 << 20)


@contextmanager
def _raw(path: str | Path) -> Iterator[io.BufferedReader]:
    try:
        file = Path(path).open("rb")  # noqa: SIM115  # closed below: a block here would catch errors of the caller
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path, or make one with hms generate") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({why}): check the path") from None
    with file:
        yield file


def _unpacking(file: io.BufferedReader, start: bytes) -> Any:
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=file, mode="rb")
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


class _Budgeted(io.RawIOBase):
    """Unpacked bytes that are counted as they come."""

    def __init__(self, path: str | Path, unpacked: Any, packed: int) -> None:
        self.path, self.unpacked, self.packed = path, unpacked, packed
        self.most = most_unpacked()
        self.passed = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        try:
            block = self.unpacked.read(len(view))
        except (OSError, EOFError, zlib.error) as error:
            why = " ".join(str(error).split())[:100]
            raise InputError(f"{self.path} cannot be unpacked ({why}): it is damaged, fetch it again") from None
        view[: len(block)] = block
        self.passed += len(block)
        if self.passed > self.most:
            raise InputError(
                f"{self.path} unpacks to more than {self.most:,} bytes: take a part of it, or set HMS_MOST_UNPACKED"
            )
        if self.passed > SMALL and self.passed > MOST_RATIO * self.packed:
            raise InputError(
                f"{self.path} unpacks to more than {MOST_RATIO} times its size, as a zip bomb does: "
                "unpack it yourself if you trust it"
            )
        return len(block)


def most_unpacked() -> int:
    """Return how many bytes a packed file may unpack to."""
    given = os.environ.get("HMS_MOST_UNPACKED", "")
    if given and not (given.isascii() and given.isdigit()):
        raise InputError(f"HMS_MOST_UNPACKED is '{given[:40]}', expected a number of bytes")
    return int(given) if given else MOST_UNPACKED


def head(path: str | Path, size: int = HEAD) -> bytes:
    """Return the first bytes of a file, unpacked."""
    with opened(path) as file, _reading(path):
        return file.read(size)


def whole(path: str | Path, takes: float = 1.0) -> bytes:
    """Return all bytes of a file, unpacked, for formats that can only be read in one piece.

    Each takes so many bytes of memory before the file has become tasks; what does not fit is refused.
    """
    with opened(path) as file, _reading(path):
        if _is_plain(file):
            size = os.fstat(file.fileno()).st_size
            _require_whole(path, size, takes)
            return file.read()
        parts, size = [], 0
        while part := file.read(PART):
            parts.append(part)
            size += len(part)
            _require_whole(path, size, 1 + takes)  # the parts are joined
        return b"".join(parts)


def _require_whole(path: str | Path, size: int, takes: float) -> None:
    if size > MOST_WHOLE:
        raise InputError(
            f"{path} holds more than {MOST_WHOLE:,} bytes, which is too much for one piece: take a part of it"
        )
    if size > PART:
        memory.require(path, takes * size)


def text(path: str | Path, takes: float = 2.0) -> str:
    """Return a whole file as text; bytes that are no UTF-8 are refused with their line."""
    return decoded(path, whole(path, takes))


def decoded(path: str | Path, content: bytes, takes: float = 0.0) -> str:
    """Return the bytes of a file as text; those that are no UTF-8 are refused with their line."""
    _require_whole(path, len(content), takes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} is not UTF-8 text in line {line}: save it as UTF-8") from None


def _is_plain(file: IO[bytes]) -> bool:
    return file.seekable() and isinstance(file, io.BufferedReader) and not isinstance(file.raw, _Budgeted)


@contextmanager
def seekable(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file in which one can go to and fro; a packed one is unpacked beside it for that time."""
    with opened(path) as file:
        if _is_plain(file):
            yield file
            return
        with tempfile.TemporaryFile() as apart:
            shutil.copyfileobj(file, apart, 1 << 20)
            apart.seek(0)
            yield apart


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None


@contextmanager
def written(path: str | Path) -> Iterator[Any]:
    """Hand out a stream that becomes the file when the block ends well, packed if it ends in .gz or .zst."""
    with written_whole(path) as scratch, scratch.open("wb") as file:
        if scratch.suffix == ".gz":  # without a name and a time, so that the same tasks are the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield packed
        elif scratch.suffix == ".zst":
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd") as packed:
                yield packed
        else:
            yield file
