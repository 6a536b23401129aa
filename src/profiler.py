"""`src.profiler` of the guide: measures this machine."""

from hybrid_scheduler.profiling.calibration import calibrate, cluster_of
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.profiling.profiler import HardwareProfiler

__all__ = ["HardwareProfiler", "calibrate", "cluster_of", "load_profile"]
