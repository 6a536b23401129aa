"""The glossary: task, device, cluster, decision, placement."""

from hybrid_scheduler.model.cluster import Cluster, DeviceClass, Node
from hybrid_scheduler.model.placements import Decision, Placements
from hybrid_scheduler.model.tasks import Edges, Task, Tasks

__all__ = ["Cluster", "Decision", "DeviceClass", "Edges", "Node", "Placements", "Task", "Tasks"]
