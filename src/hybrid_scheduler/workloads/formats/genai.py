"""Alibaba's GenAI trace of 2026: requests for images (github.com/alibaba/clusterdata, `lora_request_trace.csv`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.columns import RowFilter
from hybrid_scheduler.workloads.formats.reader import ASSUMED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, read_table

ARRIVAL, STATUS, SECONDS = "gmt_create", "predict_status", "exec_time_seconds"
SUCCEEDED, FAILED = "SUCCEED", "FAILED"
NUMBERS = {
    "num_inference_steps": "steps",
    "num_images_per_prompt": "images",
    "prompt_length": "prompt_length",
    "negative_prompt_length": "negative_prompt_length",
    "num_lora": "loras",
}
NAMES = {"groupId": "user", "checkpoint_model_version_id": "model", "predict_type": "kind"}
"""Columns of numbers and of names, and the features that they become."""

MAPPING = (
    Mapped(ARRIVAL, "arrival_time", MEASURED, "a date, counted from the first request that is kept"),
    Mapped(SECONDS, "time_gpu, duration_estimate", MEASURED, "seconds; `inf` on a CPU"),
    Mapped(STATUS, "tasks", MEASURED, "only SUCCEED: failed requests and unfinished ones are skipped"),
    Mapped(", ".join(NUMBERS), "feature_steps, feature_images …", MEASURED, "empty where the file has none"),
    Mapped(", ".join(NAMES), "feature_user, feature_model, feature_kind", MEASURED, "numbers in alphabetical order"),
    Mapped("num_inference_steps, num_images_per_prompt", "size", ASSUMED, "steps · images, 1 for what is not given"),
    Mapped("", "compute_intensity, memory_required", ASSUMED, "1 and 0: not in the file"),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names creation, status and time of requests."""
    return {ARRIVAL, STATUS, SECONDS} <= columns.parse_header(head)


def _read(path: Path, _: Sequence[Path]) -> Imported:
    table = read_table(path, _select_columns)
    with table.locate_errors():
        arrival, seconds = columns.parse_seconds(table, ARRIVAL), table.numbers(SECONDS)
        columns.require_values(SECONDS, seconds, ~(seconds < 0) & ~np.isinf(seconds), "seconds, 0 or more")
        columns.require_values(ARRIVAL, arrival, ~np.isinf(arrival), "a moment")
        status = columns.encode_strings(table.columns[STATUS], strip=True)
        requests = RowFilter(table.rows)
        requests.skip(status.match(FAILED.__eq__), "failed")
        requests.skip(~status.match(SUCCEEDED.__eq__), "had not ended")
        requests.skip(np.isnan(arrival), "arrival not known")
        requests.skip(np.isnan(seconds), "duration not known")
        requests.skip(seconds == 0, "took 0 s")
        rows = requests.rows
        codes = {NAMES[name]: columns.encode_strings(table.columns[name]).codes for name in NAMES}
        features = {NUMBERS[name]: table.numbers(name)[rows] for name in NUMBERS}
        amounts = (features[name] for name in ("steps", "images"))
        size = np.prod([np.where(each >= 1, each, 1.0) for each in amounts], axis=0)
        tasks = Tasks.build(
            size=size,
            compute_intensity=np.ones(len(rows)),
            memory_required=np.zeros(len(rows)),
            arrival_time=columns.since_first(arrival[rows]),
            duration_estimate=seconds[rows],
            measured={"cpu": np.full(len(rows), np.inf), "gpu": seconds[rows]},
            features=features | {name: column[rows] for name, column in codes.items()},
        )
    return Imported(tasks, table.rows, requests.skipped)


def _select_columns(header: list[str]) -> dict[str, str]:
    columns.require_columns(header, (ARRIVAL, STATUS, SECONDS, *NUMBERS, *NAMES), "requests need")
    return dict.fromkeys((SECONDS, *NUMBERS), NUMBER) | dict.fromkeys((ARRIVAL, STATUS, *NAMES), TEXT)


FORMAT = Format("genai", "Alibaba GenAI trace 2026: requests to generate images", MAPPING, sniff, _read)
