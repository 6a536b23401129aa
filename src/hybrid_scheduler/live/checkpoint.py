"""Checkpoints: the whole state of a simulated race as bytes, from which it goes on with the same bits.

A checkpoint holds lanes, queues, learners with what they are being trained on, generators and windows; not the
uploaded trace, which is read again. It is a pickle, which can run code when it is read, so it carries a signature:
only what was written with the key of this server (`KEY_FILE` in its data folder, for its user alone) is ever read.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import pickle
import secrets
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.background import TrainingLoop
from hybrid_scheduler.live.race import LiveRace, TraceReplay
from hybrid_scheduler.live.windows import Window
from hybrid_scheduler.workloads.library import Library

KEY_FILE = "checkpoint.key"
SIZE = struct.Struct("<Q")  # of the pickle
DIGEST = hashlib.sha256().digest_size
LARGE_BASE = 1 << 20  # bytes of an array of which a small part is copied rather than shared
_LIBRARY, _EXECUTOR, _TRACE = "library", "executor", "trace"


def save_race(race: LiveRace, key: bytes, extra: object = None) -> bytes:
    """Return the signed state of a race; waits until its learners have trained on all that they were given."""
    written = io.BytesIO()
    try:
        _Pickler(written, protocol=5).dump((race, extra))
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:  # as of a plug-in's own state
        raise InputError(f"the race holds what cannot be stored ({type(error).__name__}: {error})") from error
    body = _compress(written.getvalue())
    return hmac.digest(key, body, "sha256") + body


def load_race(state: bytes, key: bytes, library: Library | None) -> tuple[LiveRace, Any]:
    """Return race and extra of a state that was signed with this key; any other is refused unread."""
    signature, body = state[:DIGEST], state[DIGEST:]
    if not hmac.compare_digest(signature, hmac.digest(key, body, "sha256")):
        raise InputError(f"the checkpoint was not written with this server's key: copy {KEY_FILE} of that server")
    try:
        race, extra = _Unpickler(io.BytesIO(_decompress(body)), library).load()
    except Exception as error:
        raise InputError(f"the checkpoint cannot be read ({type(error).__name__}: {error})") from error
    return cast(LiveRace, race), extra


def _compress(content: bytes) -> bytes:
    """Return content as Zstandard, which takes a fifth of the time of zlib, behind its length."""
    import pyarrow as pa

    return SIZE.pack(len(content)) + cast(bytes, pa.compress(content, codec="zstd", asbytes=True))


def _decompress(body: bytes) -> bytes:
    import pyarrow as pa

    (size,) = SIZE.unpack_from(body)
    return cast(bytes, pa.decompress(body[SIZE.size :], size, codec="zstd", asbytes=True))


def read_key(folder: Path) -> bytes:
    """Return the key of this server, made at its first start."""
    path, scratch = folder / KEY_FILE, folder / f".{KEY_FILE}.{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            scratch.touch(0o600)
            scratch.write_bytes(secrets.token_bytes(32))
            with suppress(FileExistsError):  # of two servers that start together, the first makes it
                os.link(scratch, path)
            scratch.unlink()
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be made or read ({error.strerror}): check the folder") from None


class _Pickler(pickle.Pickler):
    """Leaves out what is no state, and keeps arrays that share memory together."""

    def persistent_id(self, value: Any) -> Any:
        """Return what stands for things that the reader has itself."""
        if isinstance(value, Library):
            return (_LIBRARY,)
        if isinstance(value, ThreadPoolExecutor):
            return (_EXECUTOR,)
        if isinstance(value, TraceReplay):
            return _TRACE, value.spec, value.position
        return None

    def reducer_override(self, value: Any) -> Any:
        """Return how a window, a training loop or a part of an array is rebuilt."""
        if isinstance(value, Window):
            return Window, (value.tasks, value.cluster, value.shown_from, value.results, value.executor)
        if isinstance(value, TrainingLoop):
            return TrainingLoop.continued, value.checkpoint()
        if type(value) is np.ndarray and value.dtype != object and (base := _find_base(value)) is not None:
            offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            return _share, (base, value.dtype, value.shape, offset, value.strides)
        return NotImplemented


def _find_base(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return the array whose memory this one shares, None if it has its own or a copy will do."""
    base = array.base
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    if type(base) is not np.ndarray or base.nbytes > max(LARGE_BASE, 10 * array.nbytes):
        return None
    return base if base.flags.c_contiguous else None


def _share(base: np.ndarray[Any, Any], dtype: Any, shape: Any, offset: int, strides: Any) -> np.ndarray[Any, Any]:
    return np.ndarray(shape, dtype, base, offset, strides)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, library: Library | None) -> None:
        super().__init__(file)
        self._library, self._executor = library, ThreadPoolExecutor(1, "certificates")

    def persistent_load(self, identity: Any) -> Any:
        """Return what the reader has itself."""
        if identity[0] == _TRACE:
            trace = TraceReplay(identity[1], self._library)
            trace.position = identity[2]
            return trace
        return self._library if identity[0] == _LIBRARY else self._executor
