"""Phase 4: schedule the test trace online with the trained model, and pretrain the agent."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hybrid_scheduler.learning.offline_trainer import MODEL_TYPES
from hybrid_scheduler.model.tasks import Task
from hybrid_scheduler.online_scheduler import OnlineScheduler, SchedulingDecision
from hybrid_scheduler.pipeline.phase import (
    AGENT,
    COMMON,
    DECISIONS,
    MODEL,
    TEST_TRACE,
    TRAINING_TRACE,
    Found,
    Phase,
    Work,
)
from hybrid_scheduler.schedulers.rl_agent import NONE, RLAgent
from hybrid_scheduler.workload.formats import reader

DECIDED = ("task_id", "gpu_fraction", "gpu_id", "start", "finish", "energy", "cost")
KNOWN = ("arrival_time", "size", "compute_intensity", "memory_required", "duration_estimate")


def schedule_online(work: Work) -> Found:
    """Write the decisions, then the agent."""
    work.step(0, 2)
    facts = _decide(work)
    work.step(1, 2)
    facts["agent_tasks"] = _pretrain(work)
    return Found(facts)


def _decide(work: Work) -> dict[str, Any]:
    options = work.options
    scheduler = OnlineScheduler(
        MODEL_TYPES[options.training.model].load(work.source(MODEL)),
        cluster=work.cluster,
        mode=options.mode,
        energy_weight=options.scheduling.energy_weight,
    )
    tasks = reader.read(work.source(TEST_TRACE))
    for task in tasks:
        scheduler.submit_task(task)
    decisions = scheduler.process_queue()
    write_decisions(decisions, tasks, work.target(DECISIONS))
    ran = [each for each in decisions if math.isfinite(each.finish)]
    return {
        "tasks": len(decisions),
        "rejected": len(decisions) - len(ran),
        "mean_gpu_fraction": sum(each.gpu_fraction for each in ran) / max(1, len(ran)),
        "makespan": max((each.finish for each in ran), default=0.0),
        "utilization": scheduler.get_utilization()["average_utilization"],
    }


def write_decisions(decisions: Sequence[SchedulingDecision], tasks: Iterable[Task], path: Path) -> None:
    """Write one row per task: what was decided and came of it, then the task; all simulated, to the last bit."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*DECIDED, *KNOWN))
        for task, each in zip(tasks, decisions, strict=True):
            decided = [getattr(each, name) for name in DECIDED]
            writer.writerow([*decided, *(getattr(task, name) for name in KNOWN)])


def _pretrain(work: Work) -> int:
    wanted = work.options.scheduling.agent_tasks
    if not wanted:
        return 0
    tasks = reader.read(work.source(TRAINING_TRACE))
    lessons = tasks.part(0, min(wanted, len(tasks)))
    agent = RLAgent(model=NONE, seed=work.options.seed, energy_weight=work.options.scheduling.energy_weight)
    agent.pretrain(lessons, work.cluster, mode=work.options.mode)
    agent.save(work.target(AGENT))
    return len(lessons)


SCHEDULING = Phase(
    "scheduling",
    "online scheduling",
    (*COMMON, "scheduling", "training.model"),
    (DECISIONS, AGENT, f"{AGENT}.json"),
    schedule_online,
    reads=(TRAINING_TRACE, TEST_TRACE, MODEL),
)
