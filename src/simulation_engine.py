"""`src.simulation_engine` of the guide: the race that never ends, in a thread of its own."""

from hybrid_scheduler.engine.settings import LiveSettings
from hybrid_scheduler.engine.simulation import ContinuousSimulation, Replay

__all__ = ["ContinuousSimulation", "LiveSettings", "Replay"]
