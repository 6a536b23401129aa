"""Phase 1: measure this machine, or take a profile that was measured elsewhere."""

from __future__ import annotations

from hybrid_scheduler.pipeline.options import Options, Profiling
from hybrid_scheduler.pipeline.phase import PROFILE, Found, Phase, Step, Work
from hybrid_scheduler.profiling.profile import Profile
from hybrid_scheduler.profiling.profile_file import load_profile, save
from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent


def measure_machine(work: Work) -> Found:
    """Write the profile."""
    options = work.options.profiling
    profile = load_profile(options.file) if options.file else _measured(options, work.step)
    save(profile, work.target(PROFILE))
    figures = {
        "cpu": profile.machine.cpu,
        "cores": profile.machine.cores,
        "gpu": profile.gpu.name,
        "gpu_source": profile.gpu.source,
        "cpu_gpu_ratio": profile.cpu_gpu_ratio,
        "gpu_fraction": profile.gpu_fraction,
        "points": len(profile.points),
    }
    return Found(measured=figures)


def _measured(options: Profiling, step: Step) -> Profile:
    with silent():
        profiler = HardwareProfiler(
            options.device,
            quick=options.brief,
            kernels=options.kernels,
            threads=options.threads,
            progress=lambda done, total, _what: step(done, total),
        )
        return profiler.profile_range(options.sizes)


def _brought(options: Options) -> tuple[str, ...]:
    return (options.profiling.file,) if options.profiling.file else ()


PROFILING = Phase("profiling", "hardware profiling", ("profiling",), (PROFILE,), measure_machine, brought=_brought)
