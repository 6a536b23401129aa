"""The race that never ends: `ContinuousSimulation` walks an endless stream, paced, changeable and repeatable."""

from hybrid_scheduler.live.settings import Change, LiveSettings
from hybrid_scheduler.live.simulation import Block, ContinuousSimulation, Replay

__all__ = ["Block", "Change", "ContinuousSimulation", "LiveSettings", "Replay"]
