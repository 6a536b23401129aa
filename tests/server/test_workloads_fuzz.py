"""Whatever numbers a file holds, it has a shape or is refused in one line."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from served import serving


@settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(min_value=5e-324, max_value=1e308),
            st.floats(0, 1),
            st.floats(0, 1e308),
            st.floats(0, 1e308),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_tasks_have_a_shape_or_are_refused(rows: list[tuple[float, ...]], tmp_path: Path) -> None:
    lines = ["size,compute_intensity,memory_required,arrival_time", *(",".join(map(repr, row)) for row in rows)]

    async def upload_and_look() -> None:
        async with serving(f"sqlite:///{tmp_path}/fuzz.db", data_dir=tmp_path) as service:
            answer = await service.client.post(
                "/api/workloads", params={"name": "x"}, content="\n".join(lines).encode()
            )
            if answer.status_code == 201:
                shape = await service.client.get("/api/workloads/x")
                await service.client.delete("/api/workloads/x")
                assert shape.status_code in (200, 400), shape.text
            else:
                assert answer.status_code == 400

    asyncio.run(upload_and_look())
