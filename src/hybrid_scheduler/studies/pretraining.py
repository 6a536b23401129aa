"""Pretraining of learners: on presets under load, or on measured workloads, before the real work begins.

`load_or_train` returns a learner that starts from a pretrained model. Those of the default cluster come with the
package (`make models` writes them). On another cluster a learner whose model reads any (`zero_shot`) starts with the
same one at once and learns the rest as it runs; for others the first time takes some seconds, then the model is in
the cache. Training for a cluster is on request: `hms train`, then `NAME:model=FILE`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hybrid_scheduler import learning, registry
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.compiler import cache_directory
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_files import installed_versions, manifest_path
from hybrid_scheduler.schedulers.learner import Learner, is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator

Progress = Callable[[int, int], None]
PRESETS, LOAD = ("mixed", "long_tail"), 2.0
SEED = 1000  # far from the seeds that comparisons use
SHIPPED = Path(learning.__path__[0]) / "pretrained"
SHIPPED_SPECS = ("hybrid_ml", "rl_agent")
"""Learners whose models for the default cluster come with the package, and where they are."""


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
        learners = " or ".join(each.name for each in registry.schedulers if each.kind == "learner")
        raise InputError(f"scheduler '{spec}' does not learn: train {learners}")
    for number, preset in enumerate(presets):
        if progress:
            progress(number, len(presets))
        tasks = WorkloadGenerator(seed + number).generate_preset(preset, num_tasks, load=load, cluster=cluster)
        policy.pretrain(tasks, cluster, mode)
    if progress:
        progress(len(presets), len(presets))
    return policy


def train_on_clusters(
    spec: str,
    seed: int = SEED,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> Learner:
    """Return a learner after training on random clusters, for all that there are; a checkpoint lets it go on.

    With a cluster it is trained on that one alone, and learns how long tasks take there.
    """
    policy: Learner = registry.schedulers.create(spec, seed=seed)
    policy.train_on_clusters(seed, checkpoint, progress, cluster)
    if cluster is not None:
        for number, preset in enumerate(PRESETS):
            draw, count = WorkloadGenerator(seed + number), policy.pretraining_tasks
            policy.pretrain(draw.generate_preset(preset, count, load=LOAD, cluster=cluster), cluster)
    return policy


def pretrain_on_workloads(
    spec: str, workloads: Sequence[Tasks], cluster: Cluster, seed: int = 0, mode: str = "queued"
) -> Scheduler:
    """Return a policy, pretrained on measured workloads if it learns; the first ones are the most similar.

    The caller must not pass the tasks on which the policy will be judged. Workloads whose times were measured on
    other classes only teach nothing here. Without any a learner is as `load_or_train` returns it.
    """
    classes = {each.name for each in cluster.classes}
    workloads = [each for each in workloads if not each.measured or classes & set(each.measured)]
    if not workloads:
        return load_or_train(spec, cluster, seed, mode)
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if is_learner(policy):
        policy.pretrain(workloads[::-1], cluster, mode, measured=True)  # what comes last weighs most
    return policy


def load_or_train(
    spec: str, cluster: Cluster, seed: int = 0, mode: str = "queued", *, warm_start: bool = False
) -> Scheduler:
    """Return a policy for a comparison; a learner that needs pretraining gets the model of this cluster.

    `warm_start` also gives a model to learners that start untrained in comparisons, to show how fast they learn.
    """
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if is_learner(policy) and policy.needs_pretraining(warm_start):
        path = find_or_train_model(spec, cluster, mode)
        policy.load(path)
        if path.parent == SHIPPED and cluster != Cluster.default():
            policy.forget_durations()
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
        if not manifest_path(_find_model(spec, policy, cluster, mode)).exists():
            missing.append(spec)
    return missing


def find_or_train_model(spec: str, cluster: Cluster, mode: str = "queued", progress: Progress | None = None) -> Path:
    """Return the model file of a learner for a cluster, training it if the cache has none."""
    policy: Learner = registry.schedulers.create(spec)
    path = _find_model(spec, policy, cluster, mode)
    if not manifest_path(path).exists():  # the manifest is written last, so both files are there
        path.parent.mkdir(parents=True, exist_ok=True)
        train_model(_training_spec(spec, policy), cluster, mode, progress).save(path)
    return path


def train_model(spec: str, cluster: Cluster, mode: str = "queued", progress: Progress | None = None) -> Learner:
    """Return a learner after the pretraining that comparisons and live races start from."""
    kind = registry.schedulers.load(spec.partition(":")[0])
    if kind.trains_on_clusters:
        return train_on_clusters(spec, progress=progress, cluster=cluster)
    count = kind.pretraining_tasks
    return pretrain_on_presets(spec, PRESETS, count, LOAD, SEED, cluster, progress, mode)


def _find_model(spec: str, policy: Learner, cluster: Cluster, mode: str) -> Path:
    """Return the file that comes with the package if it serves here, else the place of one in the cache."""
    training = _training_spec(spec, policy)
    shipped, is_default = SHIPPED / f"{training}.model", cluster == Cluster.default()
    serves = mode == "queued" if is_default else policy.zero_shot
    if training in SHIPPED_SPECS and serves and shipped.is_file():
        return shipped
    return _model_path(spec, policy, cluster, mode)


def _training_spec(spec: str, policy: Learner) -> str:
    """Return a spec without the options that change decisions but not what is learnt."""
    return ":".join(part for part in spec.split(":") if part.partition("=")[0] not in policy.runtime_options)


def _model_path(spec: str, policy: Learner, cluster: Cluster, mode: str) -> Path:
    """Name a model by all that shapes it: options, cluster, mode, workloads, code and libraries."""
    digest = hashlib.sha256()
    libraries = [installed_versions().get(name) for name in ("torch", "scikit-learn")]
    shape = [_training_spec(spec, policy), cluster.to_dict(), mode, PRESETS, LOAD, SEED, libraries]
    digest.update(json.dumps(shape, sort_keys=True, default=str).encode())
    for module in (Path(inspect.getfile(type(policy))), *sorted(Path(learning.__path__[0]).glob("*.py"))):
        digest.update(module.read_bytes())
    return cache_directory() / "models" / f"{spec.partition(':')[0]}-{digest.hexdigest()[:16]}.model"
