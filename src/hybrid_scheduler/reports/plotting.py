"""Figures of a kept run as files; none is ever replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import require_absent
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.look import FORMATS, add_title, save_figure
from hybrid_scheduler.reports.material import RunMaterial, load_material
from hybrid_scheduler.reports.numbers import describe

Progress = Callable[[int, int], None]


def listed() -> list[tuple[str, str, str]]:
    """Return name, summary and needs of every figure."""
    found = [gallery.find(name) for name in gallery.figures.table]
    return [(each.name, each.summary, gallery.NEEDS[each.needs]) for each in found]


def plot(directory: Path, figure: str, out: Path | None, kind: str, progress: Progress) -> list[Path]:
    """Draw a figure, or all that suit, and return the files."""
    names = [] if figure == "all" else [gallery.find(figure).name]
    _check_kind(kind, out)
    material = load_material(directory)
    places = _places(names or [each.name for each in gallery.suitable(material)], out or directory / "figures", kind)
    for path in places.values():
        require_absent(path)
    for number, (name, path) in enumerate(places.items()):
        progress(number, len(places))
        ax = gallery.draw(name, material)
        if isinstance(material, RunMaterial):
            add_title(ax, describe(material.result))
        save_figure(ax, path)
    return list(places.values())


def _check_kind(kind: str, out: Path | None) -> None:
    if kind and kind not in FORMATS:
        raise unknown_name("format", kind, FORMATS)
    ending = out.suffix.lstrip(".") if out else ""
    if kind and ending and ending != kind:
        raise InputError(f"--out is {out} and --format is {kind}: let them say the same, or leave one out")


def _places(names: list[str], out: Path, kind: str) -> dict[str, Path]:
    if out.suffix and not out.is_dir():
        if len(names) > 1:
            raise InputError(f"{out} is one file and there are {len(names)} figures: give a folder, or one --figure")
        return {names[0]: out}
    return {name: out / f"{name}.{kind or FORMATS[0]}" for name in names}
