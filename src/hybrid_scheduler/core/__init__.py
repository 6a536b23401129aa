"""The glossary: task, device, cluster, decision, placement."""

from hybrid_scheduler.core.cluster import Cluster, DeviceClass, Node
from hybrid_scheduler.core.placements import Decision, Placements
from hybrid_scheduler.core.tasks import Edges, Task, Tasks

__all__ = ["Cluster", "Decision", "DeviceClass", "Edges", "Node", "Placements", "Task", "Tasks"]
