"""`src.profiler` of the guide: measures this machine."""

from hybrid_scheduler.profiling.calibration import build_cluster, calibrate
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.profiling.profiler import HardwareProfiler

__all__ = ["HardwareProfiler", "build_cluster", "calibrate", "load_profile"]
