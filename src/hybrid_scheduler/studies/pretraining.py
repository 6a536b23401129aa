"""Lessons for policies that learn: presets in turn, under load, before the real work begins.

An agent that knows nothing is no fun to watch, so `ready` gives it what the lessons taught; the first time on a
cluster that takes some seconds, after that the model is found in the cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiling import cache_directory
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning import dqn, forest, labels, predictors
from hybrid_scheduler.learning.features import says_more
from hybrid_scheduler.learning.model_files import manifest_path
from hybrid_scheduler.schedulers import hybrid_ml, rl_agent
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import AUTO, RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator

Progress = Callable[[int, int], None]
LESSONS = ("mixed", "long_tail")
LESSON_TASKS, LESSON_LOAD = (1000, 6000), 2.0  # of each preset: the forest's, the agent's
LESSON_SEED = 1000  # far from the seeds that races use
MODULES = (rl_agent, dqn, hybrid_ml, forest, predictors, labels)


def trained(
    spec: str,
    presets: Sequence[str],
    num_tasks: int,
    load: float,
    seed: int,
    cluster: Cluster,
    progress: Progress | None = None,
    mode: str = "queued",
) -> Scheduler:
    """Return a policy after lessons on every preset: the agent watches `price` first, all others just work."""
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if not policy.learn_every:
        raise InputError(f"scheduler '{spec}' does not learn: train hybrid_ml or rl_agent")
    for number, preset in enumerate(presets):
        if progress:
            progress(number, len(presets))
        tasks = WorkloadGenerator(seed + number).generate_preset(preset, num_tasks, load=load, cluster=cluster)
        if isinstance(policy, RLAgent) and tasks.has_edges:
            raise InputError(f"rl_agent learns no graphs from presets ('{preset}'): use training.taught")
        if isinstance(policy, RLAgent):
            policy.pretrain(tasks, cluster, mode=mode)
        else:
            Lane(policy, VirtualMultiGPU(cluster=cluster, mode=mode)).run(tasks)
    if progress:
        progress(len(presets), len(presets))
    return policy


def taught(spec: str, lessons: Sequence[Tasks], cluster: Cluster, seed: int = 0) -> Scheduler:
    """Return a policy that knows what other tasks of the same kind have taught it, the nearest of them first.

    Whoever asks must not hand over the tasks that it is to be tried on. A policy that does not learn comes as it is,
    and without lessons one is as `ready` makes it.
    """
    if not lessons:
        return ready(spec, cluster, seed)
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    ordered = lessons[::-1]  # what comes last is remembered best
    if isinstance(policy, HybridML | RLAgent) and any(map(says_more, ordered)):
        policy.pretrain_more(ordered, cluster)
        return policy
    for tasks in ordered:
        if isinstance(policy, RLAgent):
            policy.pretrain(tasks, cluster)
        elif policy.learn_every:
            Lane(policy, VirtualMultiGPU(cluster=cluster)).run(tasks)
    return policy


def ready(spec: str, cluster: Cluster, seed: int = 0, mode: str = "queued", *, warm: bool = False) -> Scheduler:
    """Return a policy for a race; an agent that was given no model knows what the lessons taught.

    `warm` gives the forest a start too, which a race does not: it shall show how fast the forest learns.
    """
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if needs_lessons(policy, warm):
        policy.load(kept_model(spec, cluster, mode))
    return policy


def needs_lessons(policy: Scheduler, warm: bool = False) -> bool:
    """Whether a policy waits for the model that the lessons make."""
    if isinstance(policy, HybridML):
        return warm and policy.learn_every > 0 and not policy.knows
    return isinstance(policy, RLAgent) and policy.model == AUTO


def missing_models(specs: Iterable[str], cluster: Cluster, mode: str = "queued", *, warm: bool = False) -> list[str]:
    """Return the specs whose lessons `ready` would have to give first."""
    waiting = [spec for spec in specs if needs_lessons(registry.schedulers.create(spec), warm)]
    return [spec for spec in waiting if not manifest_path(_place(spec, cluster, mode)).exists()]


def kept_model(spec: str, cluster: Cluster, mode: str = "queued", progress: Progress | None = None) -> Path:
    """Return the model file of a learner for a cluster, training it if the cache has none."""
    place = _place(spec, cluster, mode)
    if not manifest_path(place).exists():  # written last, so whoever finds it finds both
        place.parent.mkdir(parents=True, exist_ok=True)
        count = LESSON_TASKS[isinstance(registry.schedulers.create(spec), RLAgent)]
        learning = ":".join(part for part in spec.split(":") if not part.startswith("online="))
        trained(learning, LESSONS, count, LESSON_LOAD, LESSON_SEED, cluster, progress, mode).save(place)
    return place


def _place(spec: str, cluster: Cluster, mode: str) -> Path:
    """Name a model by all that shapes it: options, cluster, race, lessons, code and libraries."""
    digest = hashlib.sha256()
    libraries = [version("torch"), version("scikit-learn")]
    shape = [spec, cluster.to_dict(), mode, LESSONS, LESSON_TASKS, LESSON_LOAD, LESSON_SEED, libraries]
    digest.update(json.dumps(shape, sort_keys=True, default=str).encode())
    for module in MODULES:
        digest.update(Path(str(module.__file__)).read_bytes())
    return cache_directory() / "models" / f"{spec.partition(':')[0]}-{digest.hexdigest()[:16]}.model"
