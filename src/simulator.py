"""`src.simulator` of the guide: a cluster in simulated time."""

from hybrid_scheduler.core.simulator import VirtualMultiGPU

__all__ = ["VirtualMultiGPU"]
