"""Known weaknesses of what is installed (`audit`), and a list of it (`sbom`); `make audit` and `make sbom` run this.

An audit that could not ask anybody has found nothing, which is not the same as finding that there is nothing. It
says so and ends with 2, findings with 1. `audit --tell` (in `make lint`) ends with 0 unless there are findings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DASHBOARD = ROOT / "dashboard"
FOLDER = ROOT / "sbom"
BIN = Path(sys.executable).parent
OURS = "hybrid-ml-scheduler"
PIP_AUDIT = (str(BIN / "pip-audit"), "--local", "--skip-editable", "--progress-spinner", "off", "--format", "json")
NPM_AUDIT = ("npm", "audit", "--json")


@dataclass(frozen=True)
class Audit:
    """What one of the two found, how many packages it asked about, and what kept it from asking."""

    asked: int
    findings: tuple[str, ...] = ()
    obstacle: str = ""


def of_python(report: Any) -> Audit:
    """Read pip-audit's report; a package that its server does not know has not been audited."""
    packages = [each for each in report["dependencies"] if each["name"] != OURS]
    asked = [each for each in packages if "skip_reason" not in each]
    findings = [
        f"{each['name']} {each['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'none'}"
        for each in asked
        for found in each["vulns"]
    ]
    left = len(packages) - len(asked)
    obstacle = f"{left} of {len(packages)} packages are not known to the server that was asked" if left else ""
    return Audit(len(asked), tuple(findings), obstacle)


def of_npm(report: Any) -> Audit:
    """Read npm's report, or its error."""
    if "vulnerabilities" not in report:
        said = report.get("message") or report.get("error", {}).get("summary") or "no report"
        return Audit(0, obstacle=" ".join(str(said).split()))
    findings = [f"{name}: {each['severity']}" for name, each in report["vulnerabilities"].items()]
    return Audit(int(report["metadata"]["dependencies"]["total"]), tuple(findings))


def audited(command: tuple[str, ...], where: Path, read: Callable[[Any], Audit]) -> Audit:
    """Run an audit; whatever it says instead of a report is an obstacle."""
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
        return read(json.loads(done.stdout))
    except OSError as error:
        return Audit(0, obstacle=f"{command[0]} cannot be run ({error.strerror})")
    except (ValueError, KeyError, TypeError):
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        return Audit(0, obstacle=lines[-1][:200])


def told(name: str, audit: Audit) -> list[str]:
    """Return an audit in words."""
    lines = [f"{name}: {each}" for each in audit.findings]
    if audit.asked and not lines:
        lines.append(f"{name}: no known weakness in {audit.asked} packages")
    if audit.obstacle:
        lines.append(f"{name}: could not be audited: {audit.obstacle}")
    return lines


def code_of(audits: list[Audit], tell: bool) -> int:
    """Return the exit code: 1 for findings, 2 if something was not audited and that is not only to be told."""
    if any(each.findings for each in audits):
        return 1
    return 2 if any(each.obstacle for each in audits) and not tell else 0


def audit(tell: bool) -> int:
    """Ask about Python's packages and the dashboard's; print what was found."""
    named = {
        "Python": audited(PIP_AUDIT, ROOT, of_python),
        "dashboard": audited(NPM_AUDIT, DASHBOARD, of_npm),
    }
    for name, found in named.items():
        print("\n".join(told(name, found)))
    return code_of(list(named.values()), tell)


def sbom() -> int:
    """Write what is installed as CycloneDX: one file for Python, one for the dashboard."""
    FOLDER.mkdir(exist_ok=True)
    python, dashboard = FOLDER / "python.cdx.json", FOLDER / "dashboard.cdx.json"
    words = ("environment", str(BIN / "python"), "--pyproject", "pyproject.toml", "--output-reproducible")
    subprocess.run([BIN / "cyclonedx-py", *words, "--output-file", python], cwd=ROOT, check=True)
    listed = subprocess.run(
        ["npm", "sbom", "--sbom-format", "cyclonedx"], cwd=DASHBOARD, capture_output=True, text=True, check=True
    )
    dashboard.write_text(listed.stdout, encoding="utf-8")
    for file in (python, dashboard):
        components = json.loads(file.read_text(encoding="utf-8"))["components"]
        print(f"{file.relative_to(ROOT)}: {len(components)} components")
    return 0


if __name__ == "__main__":
    sys.exit(sbom() if "sbom" in sys.argv else audit("--tell" in sys.argv))
