"""`hms profile`: measure this machine, and print what was measured and what was not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.profiling.profile import Profile

WIDEST = 24  # letters of a kernel's name in a table
NOISY = 0.25  # spread above which a table marks a time


def profile(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the profile in this JSON file.")] = None,
    sizes: Annotated[
        str, typer.Option("--sizes", help="Comma-separated edges of the arrays; 256,512,1024,2048 if absent.")
    ] = "",
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda, mps or xpu.")] = "auto",
    kernels: Annotated[str, typer.Option("--kernels", help="Comma-separated names; all if absent.")] = "",
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of a kernel on the CPU; all cores if absent.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few seconds: small sizes, few repeats.")] = False,
    starpu: Annotated[
        str, typer.Option("--starpu", help="FOLDER:MACHINE reads StarPU's figures of a machine; nothing is measured.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    json: options.Json = False,
) -> None:
    """Measure kernels on this machine, fit the model's physics to them and print both."""
    from hybrid_scheduler.profiling import profile_file

    if out and out.exists() and not (force and out.is_file()):
        raise InputError(f"{out} exists: choose another file or give --force to replace it")
    found = _read_starpu(starpu) if starpu else _measure(sizes, device, kernels, threads, quick, json)
    if out:
        profile_file.save_profile(found, out)
    if json:
        typer.echo(profile_file.dump_profile(found), nl=False)
    else:
        _print(found)
        typer.echo(f"wrote {out}" if out else "not kept: give -o FILE, then hms compare --profile FILE simulates it")


def _read_starpu(words: str) -> Profile:
    from hybrid_scheduler.profiling.starpu import read_starpu

    folder, colon, machine = words.rpartition(":")
    if not colon:
        raise InputError(f"--starpu is '{words}', expected FOLDER:MACHINE")
    return read_starpu(folder, machine)


def _measure(sizes: str, device: str, kernels: str, threads: int | None, quick: bool, quiet: bool) -> Profile:
    from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent

    try:
        edges = [int(part) for part in sizes.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--sizes is '{sizes}', expected whole numbers with commas such as 256,512,1024") from None
    with silent(), output.progress("measuring", quiet=quiet) as progress:
        profiler = HardwareProfiler(
            device,
            quick=quick,
            kernels=[part.strip() for part in kernels.split(",") if part.strip()],
            threads=threads,
            progress=lambda done, total, _: progress(done, total),
        )
        return profiler.profile_range(edges)


def _print(found: Profile) -> None:
    console = output.console()
    for text in (*_describe_machine(found), ""):
        console.print(text, markup=False)
    gpu = "GPU" if found.gpu_measured else "GPU (model)"
    table = output.table("kernel", "N", "CPU", "±", "GFLOP/s", "GB/s", "I", gpu)
    for point, reference in zip(found.points, found.reference_seconds.tolist(), strict=True):
        rates, on_gpu = point.rates(point.cpu), point.gpu.seconds if point.gpu else reference
        flops, time = rates["gflops"], output.quantity(on_gpu, "s")
        table.add_row(
            point.kernel if len(point.kernel) <= WIDEST else point.kernel[: WIDEST - 1] + "…",
            f"{point.size:.0f}",
            output.quantity(point.cpu.seconds, "s"),
            f"{point.cpu.spread:.0%}{'!' if point.cpu.spread > NOISY else ''}",
            f"{flops:.1f}" if flops else "–",
            f"{rates['gb_per_second']:.1f}",
            f"{point.compute_intensity:.2f}" if point.operations is not None else "?",
            f"~{time}" if not found.gpu_measured else time if point.gpu else "not measured",
        )
    console.print(table)
    for text in (*_describe_fits(found), *_remarks(found)):
        console.print(text, markup=False)


def _describe_machine(found: Profile) -> list[str]:
    machine, cpu, gpu = found.machine, found.cpu, found.gpu
    memory = f", {machine.memory_mb / 1000:.0f} GB" if machine.memory_mb else ""
    name = gpu.name if found.gpu_measured else f"{gpu.source} ({gpu.reason})"
    lines = [f"{machine.cpu}, {machine.cores} cores{memory}, {machine.system}"]
    if cpu.threads:
        lines[0] += f"; {cpu.threads} thread{'s' if cpu.threads > 1 else ''} a kernel, {cpu.clock}"
    return [*lines, f"GPU: {name}", f"energy: CPU {cpu.energy}; GPU {gpu.energy}"]


def _describe_fits(found: Profile) -> list[str]:
    """Return lines on links, on what was fitted, and how well laws predict sizes that they were not fitted on."""
    from statistics import median

    from hybrid_scheduler.profiling.calibration import calibrate, cross_validate

    fitted = calibrate(found)
    law, speedup = fitted.duration, fitted.speedup
    is_assumed = speedup.points > 0 and not speedup.slope_fitted
    laws = ", ".join(f"{name} N^{each.exponent:.2f}" for name, each in fitted.cpu_laws.items())
    links = [
        f"{each.direction.replace('_', ' ')}: {each.bandwidth / 1000:.2f} GB/s, "
        f"latency {output.quantity(each.latency, 's')}, measured"
        + (f" (fit error {each.error:.0%})" if found.transfers else "")
        for each in found.links
    ]
    lines = [
        *(links or ["host to device: not measured; the reference model has 16 GB/s"]),
        f"CPU laws: {laws}",
        f"one law for all: {law.scale:.3g} s · N^{law.exponent:.2f} / (I + 0.5), typically off by a factor "
        f"{1 + law.error:.2g}: simulate the kernels themselves where that is too much",
        f"speed-up: {speedup.speed:.3g} · (1 + {speedup.slope:.3g} · I), {fitted.sources['speedup']}"
        + (f", typically off by a factor {1 + speedup.error:.2g}" if speedup.points else "")
        + ("; the slope is the model's, the kernels' intensities are too much alike" if is_assumed else ""),
        f"CPU/GPU ratio {found.cpu_gpu_ratio:.2f}, GPU fraction {found.gpu_fraction:.1%}: {found.gpu.source}",
    ]
    tried = cross_validate(found)
    for side in ("cpu", "gpu"):
        inside, outside = (
            [each.error for each in tried if each.side == side and each.position == position]
            for position in ("inside", "outside")
        )
        if inside and outside:
            lines.append(
                f"{side.upper()} times of sizes left out of the fit: median error {median(inside):.0%} between other "
                f"sizes ({len(inside)}), {median(outside):.0%} beyond them ({len(outside)})"
            )
    return lines


def _remarks(found: Profile) -> list[str]:
    lines = []
    load, cores = found.machine.load_average, found.machine.cores
    if load is not None and load > cores and found.cpu.clock == "wall clock":
        lines.append(
            f"busy: load {load:g} on {cores} cores, so times are too long; stop other work or give --threads 1, "
            "which counts CPU time"
        )
    noisy = sum(point.cpu.spread > NOISY for point in found.points)
    if noisy:
        lines.append(f"{noisy} of {len(found.points)} times spread by more than {NOISY:.0%} (marked !)")
    return lines + [
        f"{point.kernel} {point.size:.0f} did not run on the GPU: {point.gpu_reason}"
        for point in found.points
        if point.gpu_reason
    ]
