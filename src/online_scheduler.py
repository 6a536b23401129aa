"""`src.online_scheduler` of the guide: takes tasks one by one and places them with a trained model."""

from hybrid_scheduler.studies.online_scheduler import OnlineScheduler, SchedulingDecision

__all__ = ["OnlineScheduler", "SchedulingDecision"]
