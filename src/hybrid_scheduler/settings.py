"""Settings of the live service: environment and `.env` first, then `config.yaml`, then the defaults below.

Names in the environment are upper case (`NUM_GPUS=8`), keys of `config.yaml` lower case (`num_gpus: 8`).
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, NoDecode, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from hybrid_scheduler import registry
from hybrid_scheduler.core.yaml_text import parse_yaml
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.live import settings as live
from hybrid_scheduler.storage.cache import parse_rate

CONFIG_FILE = Path("config.yaml")
PIPELINE = "pipeline"
"""The key of `config.yaml` for the pipeline's options, which the pipeline reads itself."""
DEFAULT_PASSWORD = "postgres"  # noqa: S105  # refused in production
RETRAIN_INTERVAL = 50
DEVELOPMENT_PAGES = ("http://localhost:5173", "http://127.0.0.1:5173")  # of `npm run dev`
Names = Annotated[tuple[str, ...], NoDecode]  # written with commas


class AppSettings(BaseSettings):
    """The settings of the live service, checked when built."""

    model_config = SettingsConfigDict(
        env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True, validate_default=True
    )

    environment: Literal["development", "production"] = Field(
        "development", description="production refuses unsafe settings"
    )
    role: Literal["all", "web"] = Field(
        "all", description="web serves the simulation of another process, through Redis"
    )
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    token: SecretStr = Field(
        SecretStr(""), description="control requests carry it as `Authorization: Bearer …`; needed beyond loopback"
    )
    allowed_origins: Names = Field((), description="other web pages that may connect, with commas")

    forwarded_allow_ips: Names = Field(
        (), description="addresses of proxies whose X-Forwarded-For is believed, with commas; * is every one"
    )

    database_url: SecretStr = Field(
        SecretStr(""), description="sqlite:///file or postgresql://user:password@host/name"
    )
    postgres_host: str = Field("", description="use PostgreSQL on this machine; empty: a file in DATA_DIR")
    postgres_port: int = Field(5432, ge=1, le=65535, description="port of PostgreSQL")
    postgres_db: str = Field("hybrid_scheduler_db", description="name of the database")
    postgres_user: str = Field("postgres", description="user of PostgreSQL")
    postgres_password: SecretStr = Field(SecretStr(DEFAULT_PASSWORD), description="password of PostgreSQL")
    redis_url: SecretStr = Field(SecretStr(""), description="redis://host:6379/0; empty: none")
    redis_host: str = Field("", description="use Redis on this machine; empty: none")
    redis_port: int = Field(6379, ge=1, le=65535, description="port of Redis")
    data_dir: Path = Field(
        Path("data"), description="folder of the embedded database hms.db, of models and of uploaded workloads"
    )
    keep_tasks: int | None = Field(
        1_000_000, ge=1, le=10**12, description="tasks of a run that are kept, older ones are deleted; none keeps all"
    )
    keep_bytes: int | None = Field(
        20_000_000_000,
        ge=1_000_000,
        le=10**15,
        description="largest size of the database, beyond it the oldest runs are deleted; none: any",
    )
    keep_days: float | None = Field(
        None, gt=0, le=36_500, description="days after which a run that has ended is deleted; none: never"
    )

    export_csv: Path | None = Field(
        None, description="append every result to this CSV file too; a full one is moved aside; none: no such file"
    )
    offline_training_minutes: float | None = Field(
        30.0,
        gt=0,
        le=1e6,
        description="minutes between two fits to what is stored, taken if better on held-out rows; none: never",
    )

    schedulers: Names = Field(live.DEFAULT_SCHEDULERS, description="who takes part, with commas")
    backend: str = Field("simulated", description="simulated, or what really runs the tasks: local or ray")
    devices: str = Field(
        "auto", description="what a backend runs tasks on: auto, emulated or a list such as cpu,cuda:0"
    )
    preset: str = Field("long_tail", description="workload: a preset, or upload:NAME")
    load: float = Field(
        0.9, ge=live.MIN_LOAD, le=live.MAX_LOAD, description="offered load; 1 is all that the cluster can do at best"
    )
    pace: float | None = Field(
        20.0,
        ge=live.MIN_PACE,
        le=live.MAX_PACE,
        description="tasks per second of wall time; none: as fast as possible",
    )
    num_gpus: int = Field(4, ge=0, le=live.MAX_GPUS, description="number of virtual GPUs")
    energy_weight: float = Field(
        0.0, ge=0.0, le=1.0, description="what energy counts against time, 0 (time only) to 1"
    )
    max_queue: int | None = Field(
        10_000, ge=1, le=live.MAX_QUEUE, description="tasks that may wait in a lane; none: any number"
    )
    seed: int = Field(0, ge=0, le=live.MAX_SEED, description="seed of the workload and the policies")
    repeatable: bool = Field(
        True, description="wait for learners that lag, so that a run can be repeated bit by bit; false: full speed"
    )
    retrain_interval: int = Field(RETRAIN_INTERVAL, ge=1, le=10**9, description="tasks between two fits of hybrid_ml")
    autostart: bool = Field(True, description="start the simulation with the server")
    resume: bool = Field(False, description="at the start go on with the newest interrupted run")

    frame_seconds: float = Field(0.5, ge=0.05, le=60, description="seconds between two pictures on /ws")
    client_queue: int = Field(16, ge=2, le=10_000, description="messages that may wait for a slow client")
    ring: int = Field(240, ge=1, le=100_000, description="messages kept for clients that reconnect")
    max_clients: int = Field(2000, ge=1, le=1_000_000, description="clients on /ws at the same time")
    rate_limit: str = Field("1200/minute", description="requests of one address; none: any number")
    max_body_bytes: int = Field(1_000_000, ge=1000, le=10**9, description="largest request body")
    max_upload_bytes: int = Field(50_000_000, ge=1000, le=10**10, description="largest workload that can be uploaded")
    shutdown_seconds: int = Field(5, ge=1, le=3600, description="seconds that open requests get when the server ends")

    log_level: Literal["TRACE", "DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="least important line that is logged"
    )
    log_json: bool = Field(False, description="log lines as JSON")
    log_file: Path | None = Field(Path("logs/app.log"), description="log file, rotated; none: console only")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: Source,
        env_settings: Source,
        dotenv_settings: Source,
        file_secret_settings: Source,
    ) -> tuple[Source, ...]:
        """Put `config.yaml` below the environment; an unknown key in it is an error."""
        values, known = read_yaml(CONFIG_FILE), set(settings_cls.model_fields)
        for key in values:
            if key not in known | {PIPELINE}:
                raise unknown_name(f"key in {CONFIG_FILE}:", str(key), known | {PIPELINE})
        config = InitSettingsSource(settings_cls, {key: value for key, value in values.items() if key in known})
        return init_settings, env_settings, dotenv_settings, file_secret_settings, config

    @field_validator("schedulers", "allowed_origins", "forwarded_allow_ips", mode="before")
    @classmethod
    def _split_names(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator(
        "pace",
        "max_queue",
        "keep_tasks",
        "keep_bytes",
        "keep_days",
        "log_file",
        "rate_limit",
        "export_csv",
        "offline_training_minutes",
        mode="before",
    )
    @classmethod
    def _parse_none(cls, value: Any, info: Any) -> Any:
        if isinstance(value, str) and value.strip().lower() in ("none", "off", "max"):
            return "" if info.field_name == "rate_limit" else None
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper_case(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self) -> AppSettings:
        if self.backend == live.SIMULATED:
            if self.devices != type(self).model_fields["devices"].default:
                raise ValueError("DEVICES says what a backend runs tasks on: set BACKEND=local too, or leave it out")
        elif "num_gpus" in self.model_fields_set:
            raise ValueError(f"NUM_GPUS is for a simulated race, BACKEND={self.backend} takes what DEVICES says")
        self.live_settings()  # raises for a wrong preset or scheduler
        if self.rate_limit:
            parse_rate(self.rate_limit)
        if self.role == "web" and not self.redis:
            raise ValueError("ROLE=web needs Redis to reach the simulation: set REDIS_URL")
        if self.environment == "production":
            _refuse_unsafe(self)
        return self

    def live_settings(self) -> live.LiveSettings:
        """Return the settings that the simulation starts with."""
        measured = self.backend != live.SIMULATED
        names = self.schedulers
        if measured and "schedulers" not in self.model_fields_set:
            names = live.MEASURED_SCHEDULERS
        if self.retrain_interval != RETRAIN_INTERVAL:
            learner = f"hybrid_ml:retrain_interval={self.retrain_interval}"
            names = tuple(learner if name == "hybrid_ml" else name for name in names)
        names = registry.schedulers.leave_out_missing(names)
        shared = ("preset", "load", "pace", "energy_weight", "max_queue", "seed", "repeatable")
        values: dict[str, Any] = {"schedulers": names, **{name: getattr(self, name) for name in shared}}
        if measured:
            return live.MeasuredSettings(**values, backend=self.backend, devices=self.devices)
        return live.LiveSettings(**values, num_gpus=self.num_gpus)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def trusted_pages(self) -> tuple[str, ...]:
        """Other web pages that may connect: those that are named, and on this machine the one that is developed."""
        developed = self.loopback and self.environment == "development"
        return (*self.allowed_origins, *(DEVELOPMENT_PAGES if developed else ()))

    @property
    def needs_token(self) -> bool:
        """Whether control requests must carry the token."""
        return bool(self.token.get_secret_value()) or not self.loopback

    @property
    def database(self) -> str:
        """The address of the database, password included."""
        if given := self.database_url.get_secret_value():
            return given
        if not self.postgres_host:
            return f"sqlite:///{self.data_dir / 'hms.db'}"
        user, password = quote(self.postgres_user, ""), quote(self.postgres_password.get_secret_value(), "")
        return f"postgresql://{user}:{password}@{self.postgres_host}:{self.postgres_port}/{self.postgres_db}"

    @property
    def workloads(self) -> Path:
        """The folder of uploaded workloads."""
        return self.data_dir / "workloads"

    @property
    def kept_jobs(self) -> Path:
        """The folder of runs that `hms jobs --out` has kept for the dashboard."""
        return self.data_dir / "jobs"

    @property
    def redis(self) -> str | None:
        """The address of Redis, None if there is none."""
        if given := self.redis_url.get_secret_value():
            return given
        return f"redis://{self.redis_host}:{self.redis_port}/0" if self.redis_host else None

    @property
    def secrets(self) -> list[str]:
        """The values that no log may show."""
        values = (self.token, self.database_url, self.postgres_password, self.redis_url)
        return [value.get_secret_value() for value in values if value.get_secret_value()]


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file of settings; empty if it does not exist."""
    if not path.is_file():
        return {}
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError):
        raise InputError(f"{path} is not valid YAML: correct it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None
    if not isinstance(data or {}, dict):
        raise InputError(f"{path} holds no settings: write lines such as num_gpus: 4")
    return data or {}


def load_settings(**overrides: Any) -> AppSettings:
    """Load the settings; `overrides` that are not None take precedence."""
    try:
        return AppSettings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:  # named is the first wrong setting; never its value, which may be a secret
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        message = str(first["msg"]).removeprefix("Value error, ")
        if first["loc"]:
            message = f"setting {str(first['loc'][0]).upper()}: {message[0].lower()}{message[1:]}"
        raise InputError(message) from None


def _refuse_unsafe(settings: AppSettings) -> None:
    """Raise if a setting is unsafe in production."""
    refused = "ENVIRONMENT=production refuses"
    if not settings.loopback and not settings.token.get_secret_value():
        raise ValueError(f"{refused} HOST={settings.host} without a token: set TOKEN to a long random word")
    if settings.token.get_secret_value() and len(settings.token.get_secret_value()) < 16:
        raise ValueError(f"{refused} a TOKEN shorter than 16 characters: choose a longer one")
    if "*" in settings.allowed_origins:
        raise ValueError(f"{refused} ALLOWED_ORIGINS=*: name the pages that may connect")
    uses_postgres = bool(settings.postgres_host) and not settings.database_url.get_secret_value()
    if uses_postgres and settings.postgres_password.get_secret_value() == DEFAULT_PASSWORD:
        raise ValueError(f"{refused} the default POSTGRES_PASSWORD: set another one")


@lru_cache(maxsize=64)  # asked for at every request
def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def settings_table() -> str:
    """Return the settings as a Markdown table."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in AppSettings.model_fields.items():
        default = field.default
        if isinstance(default, SecretStr):
            default = default.get_secret_value()
        elif isinstance(default, tuple):
            default = ",".join(default)
        elif isinstance(default, bool | None):
            default = str(default).lower()
        lines.append(f"| `{name.upper()}` | {f'`{default}`' if default != '' else ''} | {field.description} |")
    return "\n".join(lines) + "\n"
