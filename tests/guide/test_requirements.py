"""`pip install -r requirements.txt`, in the root of the checkout, installs the project."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement

from guide.blocks import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_it_names_the_project_with_extras_that_exist_and_tested_versions() -> None:
    constraints, project = lines("requirements.txt")
    assert constraints == "-c constraints.txt"
    assert all(Requirement(line).specifier for line in lines("constraints.txt"))
    found = re.fullmatch(r"-e \.\[([\w,]+)\]", project)
    assert found
    assert set(found[1].split(",")) <= set(EXTRAS)
