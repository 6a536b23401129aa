"""`examine`: every check, in the order in which a newcomer would ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from hybrid_scheduler.doctor import machine, packages, service
from hybrid_scheduler.doctor.check import Check, looked_at

Look = Callable[[], Check]


def examine() -> Iterator[Check]:
    """Look at everything, one after the other."""
    settings, found = service.settings()
    folder = settings.data_dir if settings else Path("data")
    yield from _all(
        {
            "Python": machine.python,
            "cores": machine.cores,
            "memory": machine.memory,
            "disk": partial(machine.disk, folder),
            "cache": machine.cache,
            "compiled loop": machine.compiled_loop,
            "torch": packages.torch,
            "dashboard": service.dashboard,
        }
    )
    yield found
    if settings:
        looks = {"port": service.port, "database": service.database, "Redis": service.redis}
        yield from _all({name: partial(look, settings) for name, look in looks.items()})
    yield from _all({f"[{name}]": partial(packages.of_extra, name) for name in packages.NEEDED_FOR})
    yield from _all({"Node": packages.node})


def _all(looks: dict[str, Look]) -> Iterator[Check]:
    return (looked_at(name, look) for name, look in looks.items())
