"""The notebooks run from top to bottom in an empty folder, and are kept without what they print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
MOST_BYTES = 20_000


def read(path: Path) -> Any:
    import nbformat  # two seconds, which only the worker that runs these tests has to wait for

    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types for it


def test_there_are_five() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "1_first_comparison",
        "2_your_own_policy",
        "3_train_the_agent",
        "4_read_a_real_trace",
        "5_your_own_hardware",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped_and_the_file_is_small(path: Path) -> None:
    from nbformat import validate

    notebook = read(path)
    validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert path.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default::DeprecationWarning")  # of the Jupyter client, not ours
def test_it_runs(path: Path, tmp_path: Path) -> None:
    from nbclient import NotebookClient

    notebook = read(path)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in printed if output.get("name") == "stderr"], printed
    assert any(output.output_type == "stream" for output in printed)
