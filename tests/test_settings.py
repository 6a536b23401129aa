"""Settings: where they come from, what is refused, and that no secret gets out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.settings import AppSettings, is_loopback, load_settings, settings_table

LONG = "a-long-random-word"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in AppSettings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return tmp_path


def test_the_environment_wins_over_dotenv_over_the_file_over_the_defaults(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config.yaml").write_text("num_gpus: 1\nload: 0.3\nseed: 5\nschedulers: [greedy, eft]\n")
    Path(".env").write_text("NUM_GPUS=2\nLOAD=0.5\nUNRELATED=1\n")
    monkeypatch.setenv("NUM_GPUS", "3")
    settings = load_settings(pace=None)
    assert (settings.num_gpus, settings.load, settings.seed, settings.energy_weight) == (3, 0.5, 5, 0.0)
    assert settings.schedulers == ("greedy", "eft")
    assert load_settings(num_gpus=8).num_gpus == 8


def test_without_any_setting_there_is_one_file_and_no_server() -> None:
    settings = load_settings()
    assert settings.database == "sqlite:///data/hms.db"
    assert settings.redis is None
    assert settings.loopback
    assert not settings.needs_token


def test_postgres_and_redis_are_used_when_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_HOST", "db.local")
    monkeypatch.setenv("POSTGRES_PASSWORD", "p@ss/word")
    monkeypatch.setenv("REDIS_HOST", "cache.local")
    settings = load_settings()
    assert settings.database == "postgresql://postgres:p%40ss%2Fword@db.local:5432/hybrid_scheduler_db"
    assert settings.redis == "redis://cache.local:6379/0"
    monkeypatch.setenv("DATABASE_URL", "sqlite:///x.db")
    assert load_settings().database == "sqlite:///x.db"


def test_an_unknown_key_of_the_file_is_refused_with_the_nearest_one() -> None:
    Path("config.yaml").write_text("num_gpu: 1\n")
    with pytest.raises(UnknownNameError, match=r"config.yaml.*num_gpu'.*did you mean 'num_gpus'"):
        load_settings()


@pytest.mark.parametrize("text", ["- 1\n", "a: [", "x", "\x00"])
def test_a_file_that_holds_no_settings_is_refused(text: str) -> None:
    Path("config.yaml").write_text(text)
    with pytest.raises(InputError, match=r"config\.yaml"):
        load_settings()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"port": 70_000}, "setting PORT"),
        ({"environment": "staging"}, "setting ENVIRONMENT"),
        ({"preset": "mixd"}, "did you mean 'mixed'"),
        ({"schedulers": "eftt"}, "did you mean 'eft'"),
        ({"load": 0}, "setting LOAD"),
        ({"pace": "fast"}, "setting PACE"),
        ({"rate_limit": "often"}, "'often' is no rate"),
        ({"log_level": "LOUD"}, "setting LOG_LEVEL"),
    ],
)
def test_wrong_values_are_refused_in_one_line(values: dict[str, Any], words: str) -> None:
    with pytest.raises(SchedulerError, match=words) as caught:
        load_settings(**values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"host": "0.0.0.0"}, "without a token: set TOKEN"),
        ({"host": "0.0.0.0", "token": "short"}, "shorter than 16"),
        ({"allowed_origins": "*"}, "name the pages"),
        ({"postgres_host": "db.local"}, "set another one"),
    ],
)
def test_production_refuses_what_is_unsafe(values: dict[str, Any], words: str) -> None:
    load_settings(**values)
    with pytest.raises(InputError, match=f"production refuses .*{words}"):
        load_settings(environment="production", **values)


def test_production_takes_what_is_safe() -> None:
    settings = load_settings(
        environment="production",
        host="0.0.0.0",
        token=LONG,
        postgres_host="db",
        postgres_password="other",
    )
    assert settings.needs_token


def test_none_means_no_limit() -> None:
    settings = load_settings(pace="none", keep_tasks="none", log_file="none", rate_limit="none", max_queue="none")
    found = (settings.pace, settings.keep_tasks, settings.log_file, settings.rate_limit, settings.max_queue)
    assert found == (None, None, None, "", None)


def test_no_secret_is_shown() -> None:
    settings = load_settings(token=LONG, postgres_password="hidden-word", redis_url="redis://:pass-word@r/0")
    assert LONG not in repr(settings)
    assert "hidden-word" not in str(settings)
    with pytest.raises(InputError) as caught:
        load_settings(token=[LONG])
    assert LONG not in str(caught.value)


def test_the_retrain_interval_reaches_the_learner() -> None:
    names = load_settings(retrain_interval=20, schedulers="eft,hybrid_ml").live_settings().schedulers
    assert names == ("eft", "hybrid_ml:retrain_interval=20")


def test_the_table_has_every_setting_once() -> None:
    table = settings_table()
    for name in AppSettings.model_fields:
        assert table.count(f"| `{name.upper()}` |") == 1
    assert all(line.count("|") == 4 for line in table.splitlines())


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("[::1]", True), ("127.9.9.9", True),
     ("0.0.0.0", False), ("example.org", False), ("localhost.evil.example", False), ("", False)],
)  # fmt: skip
def test_loopback_addresses_are_recognised(host: str, own: bool) -> None:
    assert is_loopback(host) == own


def test_a_backend_makes_the_race_measured_with_fewer_schedulers_by_default() -> None:
    live = load_settings(backend="local", devices="emulated").live_settings()
    assert (live.is_measured, live.schedulers, live.num_gpus) == (
        True,
        ("round_robin", "greedy", "hybrid_ml", "eft"),
        1,
    )
    named = load_settings(backend="local", devices="emulated", schedulers="oracle").live_settings()
    assert named.schedulers == ("oracle",)
    assert not load_settings().live_settings().is_measured


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"devices": "emulated"}, "set BACKEND=local too"),
        ({"backend": "local", "devices": "emulated", "num_gpus": 2}, "NUM_GPUS is for a simulated race"),
        ({"backend": "lokal", "devices": "emulated"}, "unknown backend 'lokal': did you mean 'local'"),
        ({"backend": "local", "devices": "gpus"}, "unknown device 'gpus'"),
    ],
)
def test_settings_of_a_measured_race_are_checked(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SchedulerError, match=message):
        load_settings(**values)


def test_every_number_of_the_settings_has_limits() -> None:
    from annotated_types import Ge, Gt, Le, Lt

    for name, field in AppSettings.model_fields.items():
        kinds = {field.annotation, *getattr(field.annotation, "__args__", ())}
        if kinds & {int, float}:
            given = {type(each) for each in field.metadata}
            assert given & {Ge, Gt}, name
            assert given & {Le, Lt}, name
