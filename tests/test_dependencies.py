"""An audit that asked nobody is not one without findings; exceptions to the rules on safety have reasons."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.dependencies import Audit, audited, code_of, of_npm, of_python, told

ROOT = Path(__file__).parents[1]
KNOWN = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}
OURS = {"name": "hybrid-ml-scheduler", "skip_reason": "editable"}


def test_packages_that_the_server_does_not_know_were_not_audited() -> None:
    found = of_python({"dependencies": [UNKNOWN, OURS]})
    assert told("Python", found) == [
        "Python: could not be audited: 1 of 1 packages are not known to the server that was asked"
    ]
    assert code_of([found], tell=False) == 2
    assert code_of([found], tell=True) == 0


def test_findings_end_with_1_even_if_others_could_not_be_audited() -> None:
    found = of_python({"dependencies": [KNOWN, WEAK, UNKNOWN]})
    assert told("Python", found)[0] == "Python: b 2: CVE-1, fixed in 2.1"
    assert "1 of 3" in told("Python", found)[1]
    assert code_of([found], tell=True) == 1


def test_all_known_and_nothing_found_is_told_with_the_number_of_packages() -> None:
    found = of_python({"dependencies": [KNOWN, OURS]})
    assert told("Python", found) == ["Python: no known weakness in 1 packages"]
    assert code_of([found], tell=False) == 0


def test_npm_tells_findings_or_why_it_could_not_ask() -> None:
    total = {"dependencies": {"total": 7}}
    weak = of_npm({"vulnerabilities": {"left-pad": {"severity": "high"}}, "metadata": total})
    assert told("dashboard", weak) == ["dashboard: left-pad: high"]
    assert of_npm({"vulnerabilities": {}, "metadata": total}) == Audit(7)
    assert of_npm({"message": "405 Method Not Allowed"}).obstacle == "405 Method Not Allowed"


def test_a_program_that_is_missing_or_talks_nonsense_is_an_obstacle(tmp_path: Path) -> None:
    assert "cannot be run" in audited(("./nothing",), tmp_path, of_npm).obstacle
    assert audited(("sh", "-c", "echo no; echo why >&2"), tmp_path, of_npm).obstacle == "why"


def test_every_exception_to_the_rules_on_safety_gives_its_reason() -> None:
    bare = re.compile(r"noqa: (?:[A-Z]+\d+, ?)*S\d+(?:, ?[A-Z]+\d+)*\s*$")
    folders = ("src", "tests", "docs", "benchmarks", "scripts", "examples", "dashboard/scripts")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 200
    found = [
        f"{path.name}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if bare.search(line)
    ]
    assert found == []
