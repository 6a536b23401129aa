"""`src.simulation_engine` of the guide: the race that never ends, in a thread of its own."""

from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation, Replay

__all__ = ["ContinuousSimulation", "LiveSettings", "Replay"]
