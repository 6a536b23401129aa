"""`src.pipeline` of the guide: runs the five phases, as `python main.py` does."""

from hybrid_scheduler.pipeline.config import Options, read_options
from hybrid_scheduler.pipeline.pipeline import Plan, run

__all__ = ["Options", "Plan", "read_options", "run"]
