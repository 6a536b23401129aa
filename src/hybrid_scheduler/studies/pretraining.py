"""Pretraining of learners: on presets under load, or on measured workloads, before the real work begins.

`load_or_train` returns a learner that starts from a pretrained model; the first time on a cluster that takes some
seconds, after that the model is found in the cache.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from hybrid_scheduler import learning, registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import cache_directory
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_files import manifest_path
from hybrid_scheduler.schedulers.learner import Learner, is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator

Progress = Callable[[int, int], None]
PRESETS, LOAD = ("mixed", "long_tail"), 2.0
SEED = 1000  # far from the seeds that comparisons use


def pretrain_on_presets(
    spec: str,
    presets: Sequence[str],
    num_tasks: int,
    load: float,
    seed: int,
    cluster: Cluster,
    progress: Progress | None = None,
    mode: str = "queued",
) -> Learner:
    """Return a learner after pretraining on generated tasks of every preset."""
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if not is_learner(policy) or not policy.learn_every:
        raise InputError(f"scheduler '{spec}' does not learn: train hybrid_ml or rl_agent")
    for number, preset in enumerate(presets):
        if progress:
            progress(number, len(presets))
        tasks = WorkloadGenerator(seed + number).generate_preset(preset, num_tasks, load=load, cluster=cluster)
        policy.pretrain(tasks, cluster, mode)
    if progress:
        progress(len(presets), len(presets))
    return policy


def pretrain_on_workloads(spec: str, workloads: Sequence[Tasks], cluster: Cluster, seed: int = 0) -> Scheduler:
    """Return a policy, pretrained on measured workloads if it learns; the first ones are the most similar.

    The caller must not pass the tasks on which the policy will be judged. Without workloads a learner is as
    `load_or_train` returns it.
    """
    if not workloads:
        return load_or_train(spec, cluster, seed)
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if is_learner(policy):
        policy.pretrain(workloads[::-1], cluster, measured=True)  # what comes last weighs most
    return policy


def load_or_train(
    spec: str, cluster: Cluster, seed: int = 0, mode: str = "queued", *, warm_start: bool = False
) -> Scheduler:
    """Return a policy for a comparison; a learner that needs pretraining gets the model of this cluster.

    `warm_start` also gives a model to learners that start untrained in comparisons, to show how fast they learn.
    """
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if is_learner(policy) and policy.needs_pretraining(warm_start):
        policy.load(find_or_train_model(spec, cluster, mode))
    return policy


def find_missing_models(
    specs: Iterable[str], cluster: Cluster, mode: str = "queued", *, warm_start: bool = False
) -> list[str]:
    """Return the specs that `load_or_train` would have to pretrain first."""
    missing = []
    for spec in specs:
        policy: Scheduler = registry.schedulers.create(spec)
        if not is_learner(policy) or not policy.needs_pretraining(warm_start):
            continue
        if not manifest_path(_model_path(spec, policy, cluster, mode)).exists():
            missing.append(spec)
    return missing


def find_or_train_model(spec: str, cluster: Cluster, mode: str = "queued", progress: Progress | None = None) -> Path:
    """Return the model file of a learner for a cluster, training it if the cache has none."""
    policy: Learner = registry.schedulers.create(spec)
    path = _model_path(spec, policy, cluster, mode)
    if not manifest_path(path).exists():  # the manifest is written last, so both files are there
        path.parent.mkdir(parents=True, exist_ok=True)
        online = ":".join(part for part in spec.split(":") if not part.startswith("online="))
        count = policy.pretraining_tasks
        pretrain_on_presets(online, PRESETS, count, LOAD, SEED, cluster, progress, mode).save(path)
    return path


def _model_path(spec: str, policy: Scheduler, cluster: Cluster, mode: str) -> Path:
    """Name a model by all that shapes it: options, cluster, mode, workloads, code and libraries."""
    digest = hashlib.sha256()
    libraries = [version("torch"), version("scikit-learn")]
    shape = [spec, cluster.to_dict(), mode, PRESETS, LOAD, SEED, libraries]
    digest.update(json.dumps(shape, sort_keys=True, default=str).encode())
    for module in (Path(inspect.getfile(type(policy))), *sorted(Path(learning.__path__[0]).glob("*.py"))):
        digest.update(module.read_bytes())
    return cache_directory() / "models" / f"{spec.partition(':')[0]}-{digest.hexdigest()[:16]}.model"
