"""Actors: objects that stay in the worker of one device, such as a model whose weights are there."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.runtime.jobs import TaskFunction

Submit = Callable[..., Future[Any]]
_numbers = itertools.count()
_objects: dict[str, Any] = {}  # in a worker, by the key of the actor


class ActorLostError(SchedulerError):
    """A call of an actor whose worker has died, and its state with it."""


class Actor:
    """A stand-in for the object: its methods return futures, in order; the object goes with the last reference."""

    def __init__(
        self, cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], submit: Submit
    ) -> None:
        self._key, self._name, self._submit = f"{os.getpid()}-{next(_numbers)}", TaskFunction(cls).name, submit
        self._created = submit(TaskFunction(_create, name=self._name), self._key, cls, args, kwargs)
        weakref.finalize(self, _drop_later, submit, self._key).atexit = False

    def __repr__(self) -> str:
        return f"<actor of {self._name}>"

    def __getattr__(self, name: str) -> Callable[..., Future[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, name)

    def _call(self, name: str, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._created.done():
            self._created.result()  # what its constructor raised
        return self._submit(TaskFunction(_call, name=f"{self._name}.{name}"), self._key, name, args, kwargs)


def _create(key: str, cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _objects[key] = cls(*args, **kwargs)


def _call(key: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if key not in _objects:
        raise ActorLostError(f"the actor of '{name}' is gone with its worker, or was not created: create another")
    return getattr(_objects[key], name)(*args, **kwargs)


def _drop(key: str) -> None:
    _objects.pop(key, None)


def _drop_later(submit: Submit, key: str) -> None:
    with suppress(SchedulerError):  # the scheduler is shut down, and so are its workers
        submit(TaskFunction(_drop, name="actor dropped"), key)
