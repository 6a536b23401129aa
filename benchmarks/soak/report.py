"""What a soak found, as lines with a verdict each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

GROWTH_ALLOWED = 0.05


@dataclass(frozen=True)
class Line:
    """One figure; `ok` is None where nothing is asked for."""

    name: str
    value: str
    ok: bool | None = None


@dataclass(frozen=True)
class Report:
    """Everything that was measured."""

    seconds: float
    tasks: int
    placements_a_second: float
    warm_bytes: float
    end_bytes: float
    megabytes: list[float]  # every ten seconds, for those who look for a leak
    rows_acknowledged: int
    rows_stored: int
    rows_missing: int
    rows_refused: int
    commands_acknowledged: int
    commands_lost: int
    background_dead: int
    background_failures: int
    frames: dict[str, float]  # of all clients
    frames_a_second: float
    rest: dict[str, float]  # quantiles in seconds
    statuses: dict[int, int]
    failures: list[str]
    troubles: dict[str, int]
    server_lived: bool
    growth_matters: bool = True  # not in a short soak, which is warming up all the time

    @property
    def growth(self) -> float:
        """By what share memory grew after the warm-up."""
        return self.end_bytes / self.warm_bytes - 1

    @property
    def ok(self) -> bool:
        """Whether everything is as it should be."""
        return all(line.ok is not False for line in self.lines())

    def lines(self) -> list[Line]:
        """Return the figures, those that are asked for with a verdict."""
        frames, troubles = self.frames, ", ".join(f"{count} × {name}" for name, count in self.troubles.items())
        grown = self.growth <= GROWTH_ALLOWED if self.growth_matters else None
        memory = f"{self.warm_bytes / 1e6:.0f} MB after the warm-up, {self.end_bytes / 1e6:.0f} MB at the end"
        rows = f"{self.rows_missing} ({self.rows_acknowledged:,} acknowledged, {self.rows_stored:,} stored)"
        lost = frames["lost"] + frames["skipped"] + frames["resets"]
        cut_off = frames["reconnects"] - frames["restarts"]  # a kill cuts everybody off
        commands = f"{self.commands_lost} of {self.commands_acknowledged} acknowledged"
        background = f"{self.background_dead} dead, {self.background_failures} failures since the last start"
        times = {name: f"{1e3 * seconds:.1f} ms" for name, seconds in self.rest.items()}
        return [
            Line("seconds", f"{self.seconds:.0f}"),
            Line("troubles", troubles, bool(self.troubles)),
            Line("tasks placed", f"{self.tasks:,}, {self.placements_a_second:,.0f} placements/s", self.tasks > 0),
            Line("server lived", str(self.server_lived).lower(), self.server_lived),
            Line("memory growth", f"{self.growth:+.1%} ({memory})", grown),
            Line("rows lost", rows, self.rows_missing == 0 and self.rows_refused == 0),
            Line("commands lost", commands, self.commands_lost == 0),
            Line("background tasks", background, self.background_dead == 0),
            Line(
                "frames lost",
                f"{lost:.0f} of {frames['received']:,.0f} to {frames['clients']:.0f} clients",
                lost == 0,
            ),
            Line("clients cut off", f"{cut_off:.0f}, but by kills", cut_off == 0),
            Line("frames", f"{self.frames_a_second:.2f} a second, p99 {1e3 * frames['p99']:.0f} ms late"),
            Line("REST from memory", f"p50 {times['memory p50']}, p99 {times['memory p99']}"),
            Line("REST from the database", f"p50 {times['database p50']}, p99 {times['database p99']}"),
            Line("answers", ", ".join(f"{count} × {status}" for status, count in sorted(self.statuses.items()))),
            Line("requests failed", "; ".join(self.failures[:3]) or "0", not self.failures),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return asdict(self) | {"growth": self.growth, "ok": self.ok}
