"""`src.dqn_scheduler` of the guide: the scheduler that learns from rewards."""

from hybrid_scheduler.schedulers.rl_agent import RLAgent

DQNScheduler = RLAgent

__all__ = ["DQNScheduler", "RLAgent"]
