"""Opens files, packed with gzip or zstd or not, with limits on what they unpack to and on the memory they take."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.workloads.formats import memory

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEAD = 65_536  # bytes by which a format is recognised
MAX_UNPACKED = 4 << 30  # bytes that a packed file may unpack to, unless `HMS_MOST_UNPACKED` says otherwise
MAX_WHOLE = 4 << 30  # bytes of a file that has to be read in one piece, as JSON has, if memory allows
PART = 16 << 20  # bytes of a packed file that are unpacked between two checks of the available memory
MAX_RATIO, SMALL = 200, 64 << 20  # how many times its size a file may unpack to, once that is more than `SMALL` bytes
OBJECTS, CELLS = 5.0, 15.0
"""Bytes of memory for every byte of a JSON document, and of a table whose cells are Python strings."""


@contextmanager
def open_unpacked(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file as a stream of bytes, unpacked if its content is gzip or zstd."""
    with _open_file(path) as file:
        start = file.peek(4)[:4]
        if not start.startswith((GZIP, ZSTD)):
            yield file
            return
        if start.startswith(GZIP):
            stream: Any = gzip.GzipFile(fileobj=file, mode="rb")
        else:
            import pyarrow as pa

            stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
        with closing(stream) as unpacked:
            yield io.BufferedReader(_LimitedReader(path, unpacked, os.fstat(file.fileno()).st_size), 1 << 20)


def _open_file(path: str | Path) -> io.BufferedReader:
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return Path(path).open("rb")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path, or make one with hms generate") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason}): check the path") from None
    raise InputError(f"{path} is a pipe or a device, which may have no end: save it to a file, and give that")


class _LimitedReader(io.RawIOBase):
    """Counts unpacked bytes as they are read, and refuses a file that unpacks to too many."""

    def __init__(self, path: str | Path, unpacked: Any, packed: int) -> None:
        self.path, self.unpacked, self.packed = path, unpacked, packed
        self.count = 0
        given = os.environ.get("HMS_MOST_UNPACKED", "")
        if given and not (given.isascii() and given.isdigit()):
            raise InputError(f"HMS_MOST_UNPACKED is '{given[:40]}', expected a number of bytes")
        self.limit = int(given) if given else MAX_UNPACKED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        try:
            block = self.unpacked.read(len(view))
        except (OSError, EOFError, zlib.error) as error:
            reason = " ".join(str(error).split())[:100]
            raise InputError(f"{self.path} cannot be unpacked ({reason}): it is damaged, fetch it again") from None
        view[: len(block)] = block
        self.count += len(block)
        if self.count > self.limit:
            raise InputError(
                f"{self.path} unpacks to more than {self.limit:,} bytes: take a part of it, or set HMS_MOST_UNPACKED"
            )
        if self.count > SMALL and self.count > MAX_RATIO * self.packed:
            raise InputError(
                f"{self.path} unpacks to more than {MAX_RATIO} times its size, as a zip bomb does: "
                "unpack it yourself if you trust it"
            )
        return len(block)


def read_head(path: str | Path) -> bytes:
    """Return the first bytes of a file, unpacked."""
    with open_unpacked(path) as file, _report_unreadable(path):
        return file.read(HEAD)


def read_bytes(path: str | Path, overhead: float = 1.0) -> bytes:
    """Return all bytes of a file, unpacked; refused if `overhead` bytes of memory per byte are not available."""
    with open_unpacked(path) as file, _report_unreadable(path):
        if _is_plain(file):
            size = os.fstat(file.fileno()).st_size
            _require_memory(path, size, overhead)
            return file.read()
        parts, size = [], 0
        while part := file.read(PART):
            parts.append(part)
            size += len(part)
            _require_memory(path, size, 1 + overhead)  # the parts are joined
        return b"".join(parts)


def _require_memory(path: str | Path, size: int, overhead: float) -> None:
    if size > MAX_WHOLE:
        raise InputError(
            f"{path} holds more than {MAX_WHOLE:,} bytes, which is too much for one piece: take a part of it"
        )
    if size > PART:
        memory.require(path, overhead * size)


def read_text(path: str | Path, overhead: float = 2.0) -> str:
    """Return a whole file as text; what is no UTF-8 is refused with its line."""
    return decode(path, read_bytes(path, overhead))


def decode(path: str | Path, content: bytes, overhead: float = 0.0) -> str:
    """Return the bytes of a file as text; what is no UTF-8 is refused with its line."""
    _require_memory(path, len(content), overhead)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} is not UTF-8 text in line {line}: save it as UTF-8") from None


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file."""
    content = read_text(path, OBJECTS)
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} line {error.lineno} is no valid JSON ({error.msg.lower()}): it may be cut off, fetch it again"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is no JSON that can be read (a number or its depth is too great)") from None


def _is_plain(file: IO[bytes]) -> bool:
    return file.seekable() and isinstance(file, io.BufferedReader) and not isinstance(file.raw, _LimitedReader)


@contextmanager
def open_seekable(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for random access; a packed one is unpacked into a temporary file."""
    with open_unpacked(path) as file:
        if _is_plain(file):
            yield file
            return
        with tempfile.TemporaryFile() as temporary:
            shutil.copyfileobj(file, temporary, 1 << 20)
            temporary.seek(0)
            yield temporary


@contextmanager
def _report_unreadable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None


@contextmanager
def open_for_writing(path: str | Path) -> Iterator[Any]:
    """Open a stream that becomes the file when the block succeeds, packed if its name ends in .gz or .zst."""
    with atomic_write(path) as scratch, scratch.open("wb") as file:
        if scratch.suffix == ".gz":  # without a name and a time, so that the same tasks are the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield packed
        elif scratch.suffix == ".zst":
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd") as packed:
                yield packed
        else:
            yield file
