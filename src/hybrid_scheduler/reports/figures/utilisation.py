"""Figure: how busy every device was under every scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.style import axes, label, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result

MOST = 12  # devices that can be told apart on a page; more are averaged by class


def busy_shares(result: Result) -> dict[str, dict[str, float]]:
    """Return the mean busy share over the seeds by scheduler and device, or by class where devices are many."""
    devices = result.comparison.cluster.devices
    groups = {device.name: device.device_class.name if len(devices) > MOST else device.name for device in devices}
    found: dict[str, dict[str, float]] = {}
    for spec in result.comparison.schedulers:
        values: dict[str, list[float]] = {}
        for outcome in result.outcomes:
            for name, share in outcome.utilisation[spec].items():
                values.setdefault(groups[name], []).append(share)
        found[spec] = {name: float(np.mean(each)) for name, each in values.items()}
    return found


@styled
def plot_utilisation(result: Result, ax: Axes | None = None) -> Axes:
    """Draw schedulers against devices, the busy share in grey and in figures."""
    order = result.ranking()
    shares = busy_shares(result)
    devices = list(shares[order[0]])
    ax = axes(ax, 0.75 + 0.235 * max(len(order), 3))
    table = np.array([[shares[spec][device] for device in devices] for spec in order])
    ax.imshow(table, cmap="Greys", vmin=0, vmax=1.6 * max(1.0, float(table.max())), aspect="auto")
    for (row, column), share in np.ndenumerate(table):
        ax.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color="black")
    ax.set_xticks(range(len(devices)), devices)
    ax.set_yticks(range(len(order)), [label(name) for name in order])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(f"device (busy share until the makespan, %), {result.comparison.how}")
    return ax
