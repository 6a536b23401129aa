"""The object store: large buffers are written once, stay where they were made, and are mapped by whoever needs them.

A value is pickled with its large buffers out of band (protocol 5). They go into a segment, a file in shared memory,
and what travels between processes is its name. The driver counts references: a segment is removed with the last
future, waiting call or argument that needs it. A process of its own removes what is left when the driver is gone.

Getting pages from the system and giving them back takes longer than copying into them, so the memory of large
segments is used again: whoever maps one holds a shared lock on its file for as long as any of it is mapped, and only
a file that can be locked alone, because nobody does, becomes another segment.
"""

from __future__ import annotations

import ctypes
import fcntl
import itertools
import mmap
import os
import pickle
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from hybrid_scheduler.errors import SchedulerError

if TYPE_CHECKING:
    from hybrid_scheduler.runtime.jobs import TaskFunction

MIN_BUFFER = 65_536  # bytes from which a buffer, or what is pickled without buffers, goes into a segment
MIN_SHARED = 1_048_576  # bytes from which a buffer of an argument is a segment by itself, for other calls too
ALIGNMENT = 64
DRIVER = "driver"  # the place of data that no task has made
MEMORY_SHARE = 0.5  # of the free shared memory that is filled before segments are written to disk
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # the folder made there is private
PREFIX, LOCK = "hms-objects-", "lock"  # names of a driver's folders, and of the file in them that it has locked
FREE = "free"  # the folder in them with memory that no segment needs any more
MAX_FREE, MAX_FREE_SHARE = 134_217_728, 0.125  # bytes in it, and share of the limit of shared memory
WATCH = 'read line; for try in 1 2 3 4 5; do rm -rf "$@" && exit; sleep 1; done'
"""Shell: wait for the end of the driver, which closes the pipe, then remove its folders; workers may be dying."""
Token = tuple[Any, tuple[int, ...]]  # name, or reference of Ray, and sizes of the buffers
Nested = tuple[bytes, list[Token]]  # blob and segments of a stored value
OpenSegment = Callable[[Token], Sequence[Any]]
Table = tuple[list[Token], list[Nested]]


class ObjectLostError(SchedulerError):
    """Data that is not in the store any more."""


class SegmentFiles:
    """Reads and writes segments; used by the driver and by workers."""

    def __init__(self, memory: str, disk: str, prefix: str, max_free: int = 0) -> None:
        self._folders, self._prefix, self._count = (memory, disk), prefix, itertools.count()
        self._free, self._max_free = f"{memory}/{FREE}", max_free

    def write(self, buffers: Sequence[Any], to_disk: bool = False) -> Token:
        """Write buffers into a new segment, on disk if there is no shared memory left."""
        name, sizes = f"{self._prefix}-{next(self._count)}", tuple(memoryview(each).nbytes for each in buffers)
        for folder in self._folders[to_disk:]:
            path = f"{folder}/{name}"
            try:
                is_there = folder == self._folders[0] and self._take_free(path, sum(sizes))
                _write(path, buffers, is_there)
            except OSError:
                Path(path).unlink(missing_ok=True)
                if folder == self._folders[-1]:
                    raise
            else:
                return name, sizes
        raise AssertionError("no folder for segments")

    def open(self, name: str, sizes: tuple[int, ...]) -> list[memoryview]:
        """Map a segment and return its buffers; they can be written to, which changes nothing for others."""
        for folder in self._folders:
            with suppress(FileNotFoundError):
                content = _map(f"{folder}/{name}")
                return [content[begin : begin + size] for begin, size in zip(_offsets(sizes), sizes, strict=True)]
        raise ObjectLostError(f"segment {name} is gone from the object store")

    def exists(self, name: str) -> bool:
        """Whether a segment is there."""
        return any(os.path.exists(f"{folder}/{name}") for folder in self._folders)  # noqa: PTH110  # for every call

    def remove(self, name: str) -> None:
        """Remove a segment; whoever has mapped it keeps it."""
        for folder in self._folders:
            with suppress(OSError):  # it is in one of them, unless somebody else has removed it
                if self._max_free == 0 or folder != self._folders[0] or not self._recycle(f"{folder}/{name}"):
                    os.unlink(f"{folder}/{name}")  # noqa: PTH108  # as often as there are results

    def _recycle(self, path: str) -> bool:
        """Keep the memory of a large segment that nobody has mapped; return whether that is done."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            kept = sum(map(_read_size, os.listdir(self._free)))  # noqa: PTH208  # names are all that is needed
            if size < MIN_SHARED or size + kept > self._max_free:
                return False
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(path, f"{self._free}/{size}-{next(self._count)}")  # noqa: PTH104  # as often as there are results
        except BlockingIOError:  # mapped
            return False
        finally:
            os.close(descriptor)
        return True

    def _take_free(self, path: str, size: int) -> bool:
        """Make a file of memory that no segment needs, of this size or a little more; return whether that is done."""
        if size < MIN_SHARED or os.path.exists(path):  # noqa: PTH110  # by a dead worker that had the same number
            return False
        for each in sorted(os.listdir(self._free), key=_read_size):  # noqa: PTH208  # names are all that is needed
            if size <= _read_size(each) <= 1.25 * size:
                with suppress(FileNotFoundError):  # another worker was quicker
                    os.rename(f"{self._free}/{each}", path)  # noqa: PTH104  # as often as there are results
                    return True
        return False


def _read_size(name: str) -> int:
    return int(name.partition("-")[0])


def _write(path: str, buffers: Sequence[Any], is_there: bool = False) -> None:
    descriptor = os.open(path, os.O_WRONLY if is_there else os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        position = 0
        for each in buffers:
            position += os.write(descriptor, bytes(-position % ALIGNMENT)) if position % ALIGNMENT else 0
            left = memoryview(each).cast("B")
            while left:  # a write ends early at 2 GB
                written = os.write(descriptor, left)
                position, left = position + written, left[written:]
        if is_there:
            os.ftruncate(descriptor, position)
    finally:
        os.close(descriptor)


def _map(path: str) -> memoryview:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        file = os.fstat(descriptor)
        if file.st_size >= MIN_SHARED:  # its memory may be used again
            fcntl.flock(descriptor, fcntl.LOCK_SH)  # until nothing of it is mapped any more
            if os.stat(path).st_ino != file.st_ino:  # noqa: PTH116  # for every large argument
                raise FileNotFoundError(path)  # it was removed meanwhile
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY))
    except ValueError:  # empty
        return memoryview(b"")
    finally:
        os.close(descriptor)


def _offsets(sizes: Iterable[int]) -> Iterator[int]:
    begin = 0
    for size in sizes:
        begin += -begin % ALIGNMENT
        yield begin
        begin += size


class Segment:
    """A segment of the driver's store; it is removed with the last reference to this object.

    Not by `__del__`: while that runs, another thread could still get hold of the object through a weak reference.
    """

    __slots__ = ("__weakref__", "_kept", "num_bytes", "store", "token")

    def __init__(self, store: ObjectStore, token: Token) -> None:
        self.store, self.token, self.num_bytes = store, token, sum(token[1])
        self._kept: Sequence[Any] | None = None

    def open(self) -> Sequence[Any]:
        """Return its buffers."""
        return self.store.open(self.token) if self._kept is None else self._kept

    def keep(self) -> None:
        """Keep the content in this process, because the store is about to end."""
        with suppress(ObjectLostError):
            self._kept = self.open()

    @property
    def exists(self) -> bool:
        """Whether its content is still there."""
        return self._kept is not None or self.store.exists(self.token)


@dataclass
class Origin:
    """How a stored value was made: a task and its pickled arguments; data among these is not kept alive by it."""

    task: TaskFunction
    features: tuple[float, float, float]
    blob: bytes
    segments: list[ref[Segment]]
    inputs: list[tuple[ref[StoredObject], Origin | None]]


class StoredObject:
    """A pickled value whose buffers are in the store; in the arguments of a call it stands for the value."""

    __slots__ = ("__weakref__", "blob", "origin", "place", "segments")

    def __init__(
        self, blob: bytes, segments: Sequence[Segment], origin: Origin | None = None, place: str = DRIVER
    ) -> None:
        self.blob, self.segments, self.origin, self.place = blob, list(segments), origin, place

    def load(self) -> Any:
        """Return the value, its buffers mapped; if they are gone, what made it runs again."""
        try:
            return self._load()
        except ObjectLostError:
            self.segments[0].store.restore(self)
            return self._load()

    def _load(self) -> Any:
        return load_value(self.blob, [buffer for each in self.segments for buffer in each.open()])

    @property
    def exists(self) -> bool:
        """Whether it can be loaded."""
        return bool(self.segments) and all(each.exists for each in self.segments)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        return sum(each.num_bytes for each in self.segments)

    def __reduce__(self) -> tuple[Callable[[int], Any], tuple[int]]:
        if _collector.inputs is None:
            raise pickle.PicklingError("a stored value can be sent as an argument only")
        _collector.inputs.append(self)
        return load_nested, (len(_collector.inputs) - 1,)


class _Collector(threading.local):
    """While arguments are pickled: the stored values among them; while they are unpickled: where these are."""

    inputs: list[StoredObject] | None = None
    load: Callable[[int], Any] | None = None


_collector = _Collector()


class Pickled(NamedTuple):
    """A pickled value, the segments of its buffers, and the stored values among its parts."""

    blob: bytes
    segments: Sequence[Segment] = ()
    inputs: Sequence[StoredObject] = ()

    @property
    def table(self) -> Table | None:
        """What a worker needs to find the segments; None if there are none."""
        if not self.segments and not self.inputs:
            return None
        nested = [(each.blob, [segment.token for segment in each.segments]) for each in self.inputs]
        return [each.token for each in self.segments], nested

    @property
    def nbytes(self) -> int:
        """Bytes of its buffers, and of those of the stored values."""
        return sum(each.num_bytes for each in self.segments) + sum(each.nbytes for each in self.inputs)


def dump_value(value: Any) -> tuple[bytes, list[Any]]:
    """Pickle a value and return the blob and its large buffers; a large blob is the first of these."""
    import cloudpickle

    buffers = list[Any]()

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < MIN_BUFFER:
            return True  # in the blob
        buffers.append(raw)
        return False

    blob = cloudpickle.dumps(value, protocol=5, buffer_callback=keep)
    return (blob, buffers) if len(blob) < MIN_BUFFER else (b"", [blob, *buffers])


def load_value(blob: bytes | memoryview, buffers: Sequence[Any]) -> Any:
    """Return a value from its blob and its buffers."""
    if not blob:
        blob, buffers = buffers[0], buffers[1:]
    return pickle.loads(blob, buffers=buffers)  # noqa: S301  # written by a process of our own


def load_arguments(
    blob: bytes | memoryview, table: Table | None, open_segment: Callable[[Token], Sequence[Any]]
) -> Any:
    """Return the arguments of a call, in a worker; stored values among them are loaded once each."""
    if table is None:
        return pickle.loads(blob)  # noqa: S301  # from our own parent
    own, nested = table
    loaded = dict[int, Any]()

    def load(number: int) -> Any:
        if number not in loaded:
            inner, tokens = nested[number]
            loaded[number] = load_value(inner, [each for token in tokens for each in open_segment(token)])
        return loaded[number]

    _collector.load = load
    try:
        return load_value(blob, [each for token in own for each in open_segment(token)])
    finally:
        _collector.load = None


def load_nested(number: int) -> Any:
    """Return a stored value among the arguments that are being unpickled."""
    if _collector.load is None:
        raise ObjectLostError("a stored value was unpickled outside of a worker")
    return _collector.load(number)


@dataclass
class _Sent:
    """A large buffer that was an argument: its owner, and its segment, kept from the second call on."""

    owner: ref[Any]
    segment: ref[Segment]
    kept: Segment | None = None
    content: Any = field(default=None, repr=False)


class ObjectStore:
    """The driver's side of the store; workers of this machine use `files`, those of others override this."""

    def __init__(self, limit: int | None = None) -> None:
        self.used = 0  # bytes of all segments
        self._sent: dict[tuple[int, int], _Sent] = {}  # by address and size
        self._lock = threading.RLock()
        self.limit = limit
        self._segments = set[ref[Segment]]()
        self.restore: Callable[[StoredObject], None] = _refuse_restore  # makes a lost value again

    # --- where segments are ------------------------------------------------------------------------------------

    def write(self, buffers: Sequence[Any]) -> Token:
        """Write a segment."""
        raise NotImplementedError

    def open(self, token: Token) -> Sequence[Any]:
        """Return the buffers of a segment."""
        raise NotImplementedError

    def exists(self, token: Token) -> bool:
        """Whether a segment is there."""
        raise NotImplementedError

    def remove(self, token: Token) -> None:
        """Remove a segment."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove all segments."""
        raise NotImplementedError

    # --- references --------------------------------------------------------------------------------------------

    def put(self, buffers: Sequence[Any]) -> Segment:
        """Write buffers into a segment."""
        return self.adopt(self.write(buffers))

    def adopt(self, token: Token) -> Segment:
        """Return the segment that a worker has written; from now on it is the driver's."""
        segment = Segment(self, token)
        num_bytes = segment.num_bytes

        def free(gone: ref[Segment]) -> None:
            with self._lock:
                self._segments.discard(gone)
                self.used -= num_bytes
            self.remove(token)

        with self._lock:
            self._segments.add(ref(segment, free))
            self.used += num_bytes
        return segment

    def list_segments(self) -> list[Segment]:
        """Return the segments that somebody needs."""
        return [segment for each in list(self._segments) if (segment := each()) is not None]

    def store(self, value: Any) -> StoredObject:
        """Write a value into the store."""
        blob, buffers = dump_value(value)
        return StoredObject(blob if buffers else b"", [self.put(buffers or [blob])])

    def pickle_arguments(self, arguments: Any) -> Pickled:
        """Pickle the arguments of a call; a large buffer that a call has had before is not written again."""
        _collector.inputs = inputs = list[StoredObject]()
        try:
            blob, buffers = dump_value(arguments)
        finally:
            _collector.inputs = None
        return Pickled(blob, list(self._place(buffers)), inputs)

    def _place(self, buffers: Sequence[Any]) -> Iterator[Segment]:
        """Yield the segments of buffers, in order: a shared one for each that is large, one for those in between."""
        for is_large, group in itertools.groupby(buffers, lambda each: memoryview(each).nbytes >= MIN_SHARED):
            if is_large:
                yield from map(self._share, group)
            else:
                yield self.put(list(group))

    def _share(self, buffer: Any) -> Segment:
        owner, key = _find_owner(buffer), _locate(buffer)
        with self._lock:
            known = self._sent.get(key) if owner is not None else None
            if known is not None and known.owner() is not owner:
                known = None
            if (
                known is not None
                and (segment := known.segment()) is not None
                and self._is_same(known, segment, buffer)
            ):
                known.kept = segment
                return segment
            segment = self.put([buffer])
            if owner is not None:
                kept = segment if known is not None else None  # who sends it twice will send it again
                forget = ref(owner, lambda gone: self._forget(key, gone))
                self._sent[key] = _Sent(forget, ref(segment), kept)
            return segment

    def _is_same(self, known: _Sent, segment: Segment, buffer: Any) -> bool:
        """Whether a buffer still has the content that was written; its owner may have changed it."""
        if known.content is None:
            try:
                known.content = segment.open()[0]
            except ObjectLostError:
                return False
        return are_equal(buffer, known.content)

    def _forget(self, key: tuple[int, int], owner: ref[Any]) -> None:
        with self._lock:
            if key in self._sent and self._sent[key].owner is owner:
                del self._sent[key]


def _refuse_restore(_: StoredObject) -> None:
    raise ObjectLostError("a result is gone from the object store, and there is no scheduler to make it again")


def are_equal(one: Any, other: Any) -> bool:
    """Whether two buffers of one size have the same bytes."""
    import numpy as np

    addresses = [np.frombuffer(each, np.uint8).ctypes.data for each in (one, other)]
    return bool(_find_memcmp()(*addresses, memoryview(one).nbytes) == 0)


@cache
def _find_memcmp() -> Any:
    compare = ctypes.CDLL(None).memcmp
    compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    return compare


def _locate(buffer: Any) -> tuple[int, int]:
    import numpy as np

    return np.frombuffer(buffer, np.uint8).ctypes.data, memoryview(buffer).nbytes


def _find_owner(buffer: Any) -> Any:
    """Return the object whose memory a buffer is; None if it cannot be watched."""
    owner = memoryview(buffer).obj
    while isinstance(owner, memoryview | pickle.PickleBuffer):
        owner = memoryview(owner).obj
    while (base := getattr(owner, "base", None)) is not None and hasattr(base, "nbytes"):
        owner = base
    try:
        ref(owner)
    except TypeError:
        return None
    return owner


class SharedMemoryStore(ObjectStore):
    """Segments of this machine; the first `limit` bytes of them in shared memory, the others on disk."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.folders: list[str] = []

    def start(self) -> None:
        """Make the folders, and start the process that removes them if this one is killed."""
        remove_stale()
        memory = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
        self.folders = [tempfile.mkdtemp(prefix=PREFIX, dir=memory), tempfile.mkdtemp(prefix=PREFIX)]
        self._locks, self._owner = [_lock(each) for each in self.folders], os.getpid()
        if self.limit is None:
            self.limit = int(shutil.disk_usage(memory).free * MEMORY_SHARE)
        os.mkdir(f"{self.folders[0]}/{FREE}")  # noqa: PTH102  # a folder of the one that was just made
        max_free = min(MAX_FREE, int(self.limit * MAX_FREE_SHARE))
        self._files = SegmentFiles(self.folders[0], self.folders[1], "driver", max_free)
        self._watcher = subprocess.Popen(  # noqa: S603  # our own words
            ["/bin/sh", "-c", WATCH, "hms-object-store", *self.folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def is_full(self) -> bool:
        """Whether the next segments go to disk."""
        return self.limit is not None and self.used >= self.limit

    def write(self, buffers: Sequence[Any]) -> Token:
        """Write a segment."""
        return self._files.write(buffers, self.is_full)

    def open(self, token: Token) -> Sequence[Any]:
        """Map a segment."""
        return self._files.open(*token)

    def exists(self, token: Token) -> bool:
        """Whether a segment is there."""
        return self._files.exists(token[0])

    def remove(self, token: Token) -> None:
        """Remove a segment."""
        if os.getpid() == self._owner:  # not in a fork of the driver
            self._files.remove(token[0])

    def sweep(self, prefix: str) -> None:
        """Remove what a worker that died has written and not reported."""
        known = {segment.token[0] for segment in self.list_segments()}
        for folder in self.folders:
            for name in os.listdir(folder):  # noqa: PTH208  # names are all that is needed
                if name.startswith(f"{prefix}-") and name not in known:
                    self._files.remove(name)

    def close(self) -> None:
        """Remove all segments; what futures still refer to stays in this process."""
        if not self.folders:
            return
        for segment in self.list_segments():
            segment.keep()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._watcher.communicate()
        for each in self._locks:
            os.close(each)
        self._locks.clear()


def _lock(folder: str) -> int:
    """Mark a folder as that of a driver that lives; the lock is let go when the process ends, however it does."""
    descriptor = os.open(f"{folder}/new", os.O_WRONLY | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    Path(folder, "new").rename(Path(folder, LOCK))
    return descriptor


def remove_stale() -> None:
    """Remove folders of drivers that were killed together with their watchers."""
    for parent in {SHARED_MEMORY, Path(tempfile.gettempdir())}:
        for lock in parent.glob(f"{PREFIX}*/{LOCK}"):
            with suppress(OSError), lock.open("rb") as file:  # of another user, or alive
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
