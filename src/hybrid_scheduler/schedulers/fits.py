"""The fit rules of shared clusters by name; `core/packing.py` carries them out.

Definitions and rounding are those of the simulator of Weng et al. 2023 ("Beware of fragmentation: scheduling
GPU-sharing workloads with fragmentation gradient descent", USENIX ATC), so that its published figures can be
compared: scores are whole numbers from 0 to 100, and of equal nodes the first by rank wins.
"""

from __future__ import annotations

from typing import Annotated

from hybrid_scheduler.core import packing
from hybrid_scheduler.core.packing import FitRule
from hybrid_scheduler.errors import InputError


def first() -> FitRule:
    """Take the first node by rank that has room."""
    return FitRule("first", packing.FIRST)


def random(seed: int = 0) -> FitRule:
    """Take any node that has room and any GPU of it that has room, all with the same chance."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"random: seed is {seed!r}, expected a whole number, 0 or more")
    return FitRule("random", packing.RANDOM, seed)


def best() -> FitRule:
    """Leave least room, cores and GPUs weighed alike (Hadary et al. 2020, Protean)."""
    return FitRule("best", packing.BEST)


def worst() -> FitRule:
    """Leave most room; of GPUs take the emptiest."""
    return FitRule("worst", packing.WORST)


def dot_product() -> FitRule:
    """Take the smallest product of what is asked for and what is free (Grandl et al. 2014, Tetris)."""
    return FitRule("dot_product", packing.DOT_PRODUCT)


def gpu_packing() -> FitRule:
    """Take GPUs in use first, then free ones beside them, then free nodes (Weng et al. 2022, MLaaS in the wild)."""
    return FitRule("gpu_packing", packing.PACKING)


def gpu_clustering() -> FitRule:
    """Go beside jobs that take as many GPUs; of such nodes take the fullest (Xiao et al. 2018, Gandiva)."""
    return FitRule("gpu_clustering", packing.CLUSTERING)


def fgd(popularity: Annotated[float, "share of the jobs that typical requests stand for"] = 0.95) -> FitRule:
    """Go where fragmentation grows least: what is left of GPUs and typical jobs cannot use (Weng et al. 2023)."""
    if not 0 < popularity <= 1:
        raise InputError(f"fgd: popularity is {popularity:g}, expected a share above 0, at most 1")
    return FitRule("fgd", packing.FGD, popularity=popularity)
