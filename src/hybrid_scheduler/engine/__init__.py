"""The race that never ends: `ContinuousSimulation` walks an endless stream, paced, changeable and repeatable."""

from hybrid_scheduler.engine.settings import Change, LiveSettings
from hybrid_scheduler.engine.simulation import Block, ContinuousSimulation, Replay

__all__ = ["Block", "Change", "ContinuousSimulation", "LiveSettings", "Replay"]
