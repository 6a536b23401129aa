"""Traces of requests to language models keep their tokens; what failed is no task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import llm, reader
from workloads.formats.instances import write_file
from workloads.formats.samples import llm_file

AZURE_2023 = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2225670,879,0
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01+00:00,2399,6
"""
MOONCAKE = """\
{"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 3052, "input_length": 7319, "output_length": 490, "hash_ids": [0, 14]}
{"timestamp": 3052, "input_length": 10, "output_length": 0, "hash_ids": []}
"""


def test_azures_trace_of_2023_is_read_to_the_last_digit_of_its_time(tmp_path: Path) -> None:
    found = reader.read_all([write_file(tmp_path / "code.csv", AZURE_2023)])
    tasks = found.tasks
    assert (found.rows, dict(found.skipped)) == (3, {"failed: no token was generated": 1})
    assert tasks.arrival_time == pytest.approx([0.0, 4.314579], abs=1e-6)
    assert tasks.features["context_tokens"].tolist() == tasks.size.tolist() == [374.0, 396.0]
    assert tasks.features["generated_tokens"].tolist() == [44.0, 109.0]
    assert not tasks.measured  # the trace tells no durations: they are assumed
    assert tasks.duration_estimate == pytest.approx([llm.PREFILL * 374 + llm.DECODE * 44, 2.2196])


def test_azures_trace_of_2024_names_a_zone_and_may_leave_out_fractions(tmp_path: Path) -> None:
    tasks = reader.read(write_file(tmp_path / "week.csv", AZURE_2024))
    assert tasks.arrival_time == pytest.approx([0.0, 0.99007], abs=1e-6)


def test_burstgpt_with_elapsed_times_has_measured_ones(tmp_path: Path) -> None:
    found = reader.read_all(llm_file(tmp_path))
    assert dict(found.skipped) == {"failed: no token was generated": 1}
    assert found.tasks.measured["gpu"].tolist() == [43.0, 2.0]
    assert np.isinf(found.tasks.measured["cpu"]).all()
    assert found.tasks.features["model"].tolist() == [1.0, 0.0]  # ChatGPT, GPT-4
    assert found.tasks.features["session"].tolist() == [0.0, 1.0]


def test_burstgpt_of_the_first_release_has_no_durations(tmp_path: Path) -> None:
    rows = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,API log\n"
    tasks = reader.read(write_file(tmp_path / "burst.csv", rows))
    assert not tasks.measured
    assert tasks.features["generated_tokens"].tolist() == [18.0]


def test_mooncake_is_a_request_a_line_in_milliseconds(tmp_path: Path) -> None:
    found = reader.read_all([write_file(tmp_path / "mooncake_trace.jsonl", MOONCAKE)])
    assert (found.rows, found.used) == (3, 2)
    assert found.tasks.arrival_time.tolist() == [0.0, 3.052]
    assert found.tasks.features["blocks"].tolist() == [3.0, 2.0]
    assert found.tasks.features["known_blocks"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "line", ['{"timestamp": 0', '{"timestamp": 0}', "[1]", '{"timestamp": 0, "input_length": -1, "output_length": 2}']
)
def test_a_line_that_is_no_request_is_named(line: str, tmp_path: Path) -> None:
    path = write_file(tmp_path / "trace.jsonl", MOONCAKE + line + "\n")
    with pytest.raises(InputError, match=r"trace\.jsonl line 4 is no request"):
        reader.read(path)
