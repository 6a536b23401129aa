"""Functions are pickled by name where a worker can import them, and by value where it cannot."""

from __future__ import annotations

import real_tasks
from hybrid_scheduler.runtime.jobs import serialize

WORDS = ("fig", "plum")


def test_a_function_of_a_module_is_pickled_by_name_and_a_closure_by_value() -> None:
    def inner(x: int) -> int:
        return x + len(WORDS)

    assert serialize(real_tasks.double) == serialize(real_tasks.double)
    assert len(serialize(real_tasks.double)) < 60
    assert len(serialize(inner)) > 200
