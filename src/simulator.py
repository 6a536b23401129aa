"""`src.simulator` of the guide: a cluster in simulated time."""

from hybrid_scheduler.simulator import VirtualMultiGPU

__all__ = ["VirtualMultiGPU"]
