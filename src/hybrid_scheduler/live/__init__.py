"""The live race: schedulers on an endless stream of tasks, paced to wall time, changeable and repeatable."""

from hybrid_scheduler.live.settings import Change, LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation, RaceEvent, Replay

__all__ = ["Change", "ContinuousSimulation", "LiveSettings", "RaceEvent", "Replay"]
