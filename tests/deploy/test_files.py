"""The files of a deployment pass their linters, pin what they use, and mount what exists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.composed import ROOT, compose, image
from deploy.test_compose import OURS, VALUES
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.settings import AppSettings, load_settings

PROGRAMS = Path(sys.executable).parent
OF_OTHERS = {"FORWARDED_ALLOW_IPS"}  # uvicorn's own


def linted(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_passes_its_linter() -> None:
    linted(PROGRAMS / "hadolint", "--failure-threshold", "style", "Dockerfile")


def test_the_compose_file_follows_the_specification() -> None:
    linted(PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")


def test_every_image_and_every_tool_of_the_build_is_pinned() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    images = re.findall(r"^FROM (\S+)", text, flags=re.M)
    images += [each["image"] for name, each in compose(VALUES).items() if name not in OURS]
    for each in images:
        assert re.search(r":v?\d+\.\d+", each), each
    locked = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert re.findall(r"pip install --no-cache-dir (hatchling==\S+)", text)[0] in locked
    assert "-c /tmp/constraints.txt" in text


def test_the_image_runs_as_nobody_in_particular_and_writes_to_its_volumes_only() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    last = text.rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001:10001$", last, flags=re.M)
    assert "HEALTHCHECK" in last
    _, variables = image()
    volumes = json.loads(re.findall(r"^VOLUME (.+)$", last, flags=re.M)[0])
    assert {variables["DATA_DIR"], variables["HMS_CACHE_DIR"]} == set(volumes)
    assert variables["LOG_FILE"] == "none"
    for name in OURS:
        service = compose(VALUES)[name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert {each.split(":")[1] for each in service["volumes"]} == set(volumes)


def test_the_health_check_asks_the_port_that_is_set() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    command = json.loads(re.findall(r"^HEALTHCHECK .*? CMD (\[.+\])$", text, flags=re.M)[0])
    done = subprocess.run(
        [sys.executable, *command[1:]], env={"PORT": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "Connection refused" in done.stderr


def test_it_works_at_once_for_this_machine_and_production_needs_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    services = compose({})
    open_ports = [port for each in services.values() for port in each.get("ports", [])]
    assert open_ports
    assert all(port.startswith("127.0.0.1:") for port in open_ports)
    for name, value in services["server"]["environment"].items():
        monkeypatch.setenv(name, str(value))
    assert load_settings().environment == "development"
    monkeypatch.setenv("ENVIRONMENT", "production")
    with pytest.raises(InputError, match="production refuses a TOKEN shorter than 16"):
        load_settings()
    monkeypatch.setenv("TOKEN", "a-long-random-word-1234")
    with pytest.raises(InputError, match="production refuses the default POSTGRES_PASSWORD"):
        load_settings()


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_a_setting_of_ours(name: str) -> None:
    known = {each.upper() for each in AppSettings.model_fields}
    assert set(compose(VALUES)[name]["environment"]) <= known | OF_OTHERS


def test_everything_that_is_mounted_from_here_exists() -> None:
    for service in compose(VALUES).values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists(), source


def test_what_the_build_copies_is_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [word for line in re.findall(r"^COPY (?!--from)(.+)$", text, flags=re.M) for word in line.split()[:-1]]
    assert {word.split("/")[0] for word in copied} == let_through
    assert all((ROOT / word).exists() for word in copied)


def test_the_settings_of_the_systemd_unit_are_ours_and_its_sandbox_is_tight() -> None:
    unit = (ROOT / "deploy/systemd/hms.service").read_text(encoding="utf-8")
    set_there = re.findall(r"(\w+)=\S+", " ".join(re.findall(r"^Environment=(.+)$", unit, flags=re.M)))
    assert set(set_there) <= {each.upper() for each in AppSettings.model_fields} | {"HMS_CACHE_DIR", "MPLCONFIGDIR"}
    assert {"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes"} <= set(unit.splitlines())
    if program := shutil.which("systemd-analyze"):  # where there is systemd, it judges itself
        done = subprocess.run(
            [program, "security", "--offline=true", "--threshold=25", ROOT / "deploy/systemd/hms.service"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or "offline" in done.stderr, done.stdout[-500:]


def test_the_pictures_of_grafana_ask_the_process_that_runs_the_race_where_others_know_nothing() -> None:
    board: dict[str, Any] = json.loads((ROOT / "deploy/grafana/dashboards/hms.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert all('role="all"' in each for each in asked if "hms_recorder" in each)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places)
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8"))
    assert all(rule["annotations"]["summary"] for rule in rules["groups"][0]["rules"])
