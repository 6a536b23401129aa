"""Gymnasium environments: one episode is one workload, one step decides one task.

Importing this module registers `HybridScheduler-v0` and, for late binding, `HybridSchedulerPick-v0`. Time passes only
in the simulator's own loop, which steps the workload in blocks of one task.

The action is the index of a device: the whole task goes there (f = 1 on a GPU, f = 0 on a CPU). If it does not fit,
the simulator spills it, as it does for any policy; `info["action_mask"]` says beforehand where it fits.

The observation is, in this order: size / 10000, compute_intensity, memory / 5000, then for each device in order of
index log1p(wait / typical) / 5 and its kind (0 CPU, 1 GPU); every entry is cut at 10. `typical` is a fixed number of
seconds, so that a policy can see the same outside the environment. After the last task the observation is zero.

The reward is −T / (mean of the tasks' shortest times), at worst −50. T is the task's turnaround, its execution, or
(`price`, the default) its execution weighted with the price of the device, as in `rl_agent`; energy plays no part.
Tasks that no device can hold are passed over without a decision, as in the loop.

In `HybridSchedulerPick-v0` tasks wait in common. Whenever a device is idle and something waits that it can run, the
action is the position of the task that it takes among the oldest `window` ones, or `window`: none for now, which is
allowed while something runs. An action that the mask does not allow takes the oldest task that fits. The observation
is for each device log1p(seconds left / typical) / 5, its kind, and whether it is the one that asks; then for each
position whether a task is there, whether it fits, size / 10000, compute_intensity, memory / 5000 and
log1p(age / typical) / 5. The reward of a pick is −turnaround / (mean of the tasks' shortest times), of none 0: the
return is minus the sum of all turnarounds.

`HybridSchedulerVector-v0` and `HybridSchedulerPickVector-v0`, for `gymnasium.make_vec`, step many episodes in one
compiled call (`learning/episodes.py`), with the observations and masks of the single environments. The reward is
−(turnaround + energy · joules + cost · dollars) / (mean of the tasks' shortest times): `energy` and `cost` are the
seconds that a joule and a dollar are worth. Episodes are workloads of a pool that is drawn when the environment is
made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds.makespan import available_times, find_prices, lower_bound
from hybrid_scheduler.bounds.turnaround import turnaround_bound
from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.late_binding import PAUSE, Waiting
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN, Placements, concatenate_placements
from hybrid_scheduler.core.simulator import EXACT, OrderedStream, VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError, check_number, unknown_name
from hybrid_scheduler.learning.dqn import QUEUE_PENALTY, REWARDS
from hybrid_scheduler.learning.episodes import MAX_COST, MAX_ENTRY, Actions, Episodes, PickingEpisodes, Workload
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator, find_preset

Observation = npt.NDArray[np.float32]
Mask = npt.NDArray[np.int8]
Info = dict[str, Any]
Predict = Callable[..., tuple[Any, Any]]

ENV_ID, PICK_ID = "HybridScheduler-v0", "HybridSchedulerPick-v0"
VECTOR_ID, PICK_VECTOR_ID = "HybridSchedulerVector-v0", "HybridSchedulerPickVector-v0"
OPTIONS = ("preset", "num_tasks", "load", "tasks")
TYPICAL = 0.1  # seconds: the mean task of the preset `mixed` on its fastest device
SEARCH_STEPS = 100  # for the bound of an episode's turnaround


def observe(task: TaskView, view: View, typical: float = TYPICAL) -> Observation:
    """Return what is seen of a task and the queues; needs no times."""
    seen = np.empty(3 + 2 * len(view.free), np.float32)
    seen[:3] = task.size / 10000.0, task.compute_intensity, task.memory_required / 5000.0
    seen[3::2] = elementary.log1p(waiting_times(task, view) / typical) / 5.0
    seen[4::2] = view.kind
    return np.minimum(seen, np.float32(MAX_ENTRY))


def waiting_times(task: TaskView, view: View) -> Floats:
    """Return seconds until each device would begin with the task."""
    return np.maximum(view.free - task.ready_time, 0.0)


def fit_mask(task: TaskView, view: View) -> npt.NDArray[np.bool_]:
    """Return whether each device can hold the task."""
    mask: npt.NDArray[np.bool_] = task.memory_required <= view.memory
    return mask


class _FixedDevice(Scheduler):
    """Takes the device that was set."""

    name = "env"
    clairvoyant = False
    device = 0

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        return float(view.kind[self.device]), self.device


class Episode:
    """A workload on its way through the simulator, one task at a time."""

    def __init__(self, tasks: Tasks, cluster: Cluster) -> None:
        if tasks.has_edges or not tasks.in_order:
            raise InputError("an episode takes independent tasks in order of arrival: sort them, drop dependencies")
        self.tasks, self.cluster, self.row = tasks, cluster, 0
        self.times = class_times(tasks, cluster)
        self.runs = rejections(tasks, self.times, cluster) == RAN
        if not self.runs.any():
            raise InputError("no task of this workload fits the cluster: there is nothing to decide")
        seconds = available_times(tasks, cluster, self.times)[self.runs]
        self.typical = float(seconds.min(axis=1).mean())
        self.prices = find_prices(seconds, cluster.counts) * cluster.counts.sum()
        self._machine, self._policy = VirtualMultiGPU(cluster=cluster, backlog=EXACT), _FixedDevice()
        self._parts: list[Placements] = []
        self._begin()

    def _begin(self) -> None:
        self._skip_rejected()

    @property
    def over(self) -> bool:
        """Whether all tasks are placed."""
        return self.row == len(self.tasks)

    @property
    def now(self) -> float:
        """When the task at hand arrives."""
        return float(self.tasks.arrival_time[min(self.row, len(self.tasks) - 1)])

    @property
    def view(self) -> View:
        """The devices as known at that time."""
        return self._machine.view_at(self.now)

    @property
    def task(self) -> TaskView:
        """The task to decide on."""
        tasks, row = self.tasks, self.row
        arrival, unseen = float(tasks.arrival_time[row]), np.full(self.times.shape[1], np.nan)
        size, intensity = float(tasks.size[row]), float(tasks.compute_intensity[row])
        memory, base = float(tasks.memory_required[row]), float(tasks.duration_estimate[row])
        return TaskView(row, size, intensity, memory, arrival, base, arrival, unseen)

    @property
    def placements(self) -> Placements:
        """Placements of the tasks so far."""
        tasks = self.tasks if self.over else self.tasks.part(0, self.row)
        return concatenate_placements(self._parts, tasks)

    def place(self, device: int) -> Placements:
        """Let the simulator run the task at hand on a device; go on to the next that can run at all."""
        self._policy.device = device
        placed = self._step()
        self._skip_rejected()
        return placed

    def _skip_rejected(self) -> None:
        while not self.over and not self.runs[self.row]:
            self._step()

    def _step(self) -> Placements:
        first, self.row = self.row, self.row + 1
        block = self.tasks.part(first, self.row)
        self._parts.append(self._machine.step(block, self._policy, times=self.times[first : self.row]))
        return self._parts[-1]


class SchedulingEnv(gymnasium.Env[Observation, np.int64]):
    """Decide task by task where a workload runs; options of `reset` replace preset, num_tasks, load or tasks."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        preset: str = "mixed",
        num_tasks: int = 200,
        load: float | None = None,
        cluster: Cluster | None = None,
        reward: str = "price",
        typical: float = TYPICAL,
        render_mode: str | None = None,
    ) -> None:
        if reward not in REWARDS:
            raise InputError(f"reward is '{reward}', expected {', '.join(REWARDS)}")
        if render_mode not in (None, "ansi"):
            raise InputError(f"render_mode is '{render_mode}', expected None or ansi")
        if not 0 < typical < np.inf:
            raise InputError(f"typical is {typical}, expected seconds above 0")
        _check_preset(preset)
        self.cluster, self.reward = cluster or Cluster.default(), reward
        self.typical, self.render_mode = float(typical), render_mode
        self._defaults: dict[str, Any] = {"preset": preset, "num_tasks": num_tasks, "load": load, "tasks": None}
        self._episode: Episode | None = None
        devices = len(self.cluster.devices)
        self.action_space = gymnasium.spaces.Discrete(devices)
        self.observation_space = gymnasium.spaces.Box(0.0, MAX_ENTRY, (3 + 2 * devices,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin an episode with the workload of `seed`; without one, with the next of the last seed's sequence."""
        super().reset(seed=seed)
        workload_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        self._episode = self._begin(self._workload(workload_seed, options or {}))
        return self._observe(), {"action_mask": self._mask(), "seed": workload_seed}

    def _begin(self, tasks: Tasks) -> Episode:
        return Episode(tasks, self.cluster)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Place the task at hand on a device."""
        episode = self._open_episode()
        if not self.action_space.contains(action):
            raise InputError(f"action is {action!r}, expected a device from 0 to {len(self.cluster.devices) - 1}")
        task, view = episode.task, episode.view
        wait, fitting = waiting_times(task, view), fit_mask(task, view)
        placed = episode.place(int(action))
        reward = self._reward(episode, placed, wait, float(wait[fitting].mean()))
        info: Info = {"action_mask": self._mask()}
        if episode.over:
            makespan = episode.placements.makespan
            bound = lower_bound(episode.tasks, episode.cluster, episode.times).makespan
            info |= {"makespan": makespan, "bound": bound, "makespan_over_bound": makespan / bound}
        return self._observe(), reward, episode.over, False, info

    def render(self) -> str | None:
        """Return one line: how far the episode is and how long the queues are."""
        episode = self._episode
        if self.render_mode is None or episode is None:
            return None
        done, count, now = episode.row, len(episode.tasks), episode.now
        queues = zip(self.cluster.devices, np.maximum(episode.view.free - now, 0.0), strict=True)
        return f"{now:.2f} s, {done}/{count} tasks | " + " ".join(f"{each.name} {wait:.2f}" for each, wait in queues)

    @property
    def placements(self) -> Placements:
        """Placements of the tasks decided so far."""
        if self._episode is None or self._episode.row == 0:
            raise InputError("no task has been placed yet: call reset and step first")
        return self._episode.placements

    def _open_episode(self) -> Episode:
        if self._episode is None or self._episode.over:
            raise gymnasium.error.ResetNeeded("there is no task to decide on: call reset first")
        return self._episode

    def _workload(self, seed: int, options: dict[str, Any]) -> Tasks:
        for key in options:
            if key not in OPTIONS:
                raise unknown_name("option of reset:", key, OPTIONS)
        settings = {**self._defaults, **options}
        if settings["tasks"] is not None:
            return Tasks.from_iterable(settings["tasks"])
        name, count, load = settings["preset"], settings["num_tasks"], settings["load"]
        _check_preset(name)
        return WorkloadGenerator(seed).generate_preset(name, count, load=load, cluster=self.cluster)

    def _observe(self) -> Observation:
        episode = self._episode
        if episode is None or episode.over:
            return np.zeros(self.observation_space.shape or 0, np.float32)
        return observe(episode.task, episode.view, self.typical)

    def _mask(self) -> Mask:
        episode = self._episode
        if episode is None or episode.over:
            return np.ones(len(self.cluster.devices), np.int8)
        return fit_mask(episode.task, episode.view).astype(np.int8)

    def _reward(self, episode: Episode, placed: Placements, wait: Floats, mean_wait: float) -> float:
        """Return the reward of where the task really ran, also if it was spilled."""
        typical, device = episode.typical, placed.decision(0).device
        seconds = float((placed.turnaround if self.reward == "turnaround" else placed.execution)[0])
        if self.reward == "price":
            excess = (float(wait[device]) - mean_wait) / typical
            price = float(episode.prices[self.cluster.class_index[device]])
            seconds *= price * min(max(1.0 + QUEUE_PENALTY * excess, 0.5), 2.0)
        return -min(seconds / typical, MAX_COST)


def _check_preset(name: str) -> None:
    if find_preset(name).graph is not None:
        raise InputError(f"preset '{name}' has dependencies, which are not decided one by one: choose another")


class _Asking(Scheduler):
    """Stops the loop at every question that has an answer, and goes on with the answer that was set."""

    name = "env"
    clairvoyant = False

    def __init__(self, times: Floats, window: int) -> None:
        self._times, self._window = times, window
        self.answer = PAUSE
        self.question: tuple[Waiting, int, View] | None = None
        self.fits = np.zeros(window, np.bool_)  # by position

    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        answer, self.answer, self.question = self.answer, PAUSE, None
        if answer != PAUSE:
            return answer
        rows = waiting.row[: self._window]
        self.fits = np.zeros(self._window, np.bool_)
        can_run = np.isfinite(self._times[rows, view.device_class[device]])
        self.fits[: len(rows)] = can_run & (waiting.memory_required[rows] <= view.memory[device])
        if not self.fits.any():
            return -1
        self.question = waiting, device, view
        return PAUSE


class PickingEpisode(Episode):
    """A workload on its way through the simulator, one question of an idle device at a time."""

    def __init__(self, tasks: Tasks, cluster: Cluster, window: int) -> None:
        self._window = window
        super().__init__(tasks, cluster)

    def _begin(self) -> None:
        self._asking = _Asking(self.times, self._window)
        self._stream = OrderedStream(self._machine, self.tasks, self._asking, self.times)
        self._stream.advance(len(self.tasks))

    @property
    def over(self) -> bool:
        """Whether no device asks any more."""
        return self._asking.question is None

    @property
    def now(self) -> float:
        """When the device asks; at the end, when the last task has ended."""
        return self.placements.makespan if self._asking.question is None else self._asking.question[0].now

    @property
    def view(self) -> View:
        """The devices at that time."""
        return self._machine.view if self._asking.question is None else self._asking.question[2]

    @property
    def placements(self) -> Placements:
        """Placements of all tasks, to be read at the end."""
        return self._stream.placements

    @property
    def mask(self) -> Mask:
        """Which positions the device may take, and whether it may take nothing."""
        waiting, _, _ = self._ask()
        return np.append(self._asking.fits, (waiting.running >= 0).any()).astype(np.int8)

    def observe(self, typical: float) -> Observation:
        """Return what is seen of the devices and of the tasks that wait longest."""
        waiting, device, view = self._ask()
        left = elementary.log1p(np.maximum(view.running_end - waiting.now, 0.0) / typical) / 5.0
        devices = np.column_stack([left, view.kind, np.arange(len(left)) == device])
        rows = waiting.row[: len(self._asking.fits)]
        slots = np.zeros((len(self._asking.fits), 6))
        slots[: len(rows)] = np.column_stack(
            [
                np.ones(len(rows)),
                self._asking.fits[: len(rows)],
                waiting.size[rows] / 10000.0,
                waiting.compute_intensity[rows],
                waiting.memory_required[rows] / 5000.0,
                elementary.log1p((waiting.now - waiting.ready_time[rows]) / typical) / 5.0,
            ]
        )
        seen = np.concatenate([devices.ravel(), slots.ravel()]).astype(np.float32)
        return np.minimum(seen, np.float32(MAX_ENTRY))

    def pick(self, position: int) -> float:
        """Let the device take the task at a position, or none for -1; return that task's turnaround, or 0."""
        waiting, _, _ = self._ask()
        row = int(waiting.row[position]) if position >= 0 else -1
        self._asking.answer = position
        self._stream.advance(len(self.tasks))
        if row < 0:
            return 0.0
        self.row += 1
        return float(self.placements.finish[row] - self.tasks.arrival_time[row])

    def _ask(self) -> tuple[Waiting, int, View]:
        if self._asking.question is None:
            raise gymnasium.error.ResetNeeded("no device asks for a task: call reset first")
        return self._asking.question


class PickingEnv(SchedulingEnv):
    """Decide what idle devices take of the tasks that wait: late binding."""

    def __init__(self, preset: str = "mixed", num_tasks: int = 200, window: int = 16, **options: Any) -> None:
        super().__init__(preset, num_tasks, **{"reward": "turnaround", **options})
        if self.reward != "turnaround":
            raise InputError(f"reward is '{self.reward}', late binding has turnaround alone")
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise InputError(f"window is {window!r}, expected a whole number above 0")
        self.window = window
        entries = 3 * len(self.cluster.devices) + 6 * window
        self.action_space = gymnasium.spaces.Discrete(window + 1)
        self.observation_space = gymnasium.spaces.Box(0.0, MAX_ENTRY, (entries,), np.float32)

    def _begin(self, tasks: Tasks) -> Episode:
        return PickingEpisode(tasks, self.cluster, self.window)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Let the device that asks take a task, or none."""
        episode: Any = self._open_episode()
        if not self.action_space.contains(action):
            raise InputError(f"action is {action!r}, expected a position from 0 on, or {self.window}: none for now")
        taken = int(action) if episode.mask[action] else int(np.argmax(episode.mask))
        seconds = episode.pick(-1 if taken == self.window else taken)
        info: Info = {"action_mask": self._mask()}
        if episode.over:
            mean = float(episode.placements.turnaround[episode.runs].mean())
            bound = turnaround_bound(episode.tasks, episode.cluster, episode.times, iterations=SEARCH_STEPS).mean
            info |= {"mean_turnaround": mean, "bound": bound, "turnaround_over_bound": mean / bound}
        return self._observe(), -seconds / episode.typical, episode.over, False, info

    def _observe(self) -> Observation:
        episode = self._episode
        if not isinstance(episode, PickingEpisode) or episode.over:
            return np.zeros(self.observation_space.shape or 0, np.float32)
        return episode.observe(self.typical)

    def _mask(self) -> Mask:
        episode = self._episode
        if not isinstance(episode, PickingEpisode) or episode.over:
            return np.ones(self.window + 1, np.int8)
        return episode.mask


class SchedulingVectorEnv(gymnasium.vector.VectorEnv[Any, Actions, npt.NDArray[Any]]):
    """`num_envs` episodes of `HybridScheduler-v0` in one compiled call; a place whose episode ends begins another.

    The seed of `reset` says which workloads of the pool follow each other at every place; `seed` here which
    workloads those are: those that `WorkloadGenerator(seed)`, `seed + 1` … draw, unless `workloads` are given, each
    with its cluster. Observations, masks, rewards and ends are arrays that the next step overwrites, unless `copy`.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}  # type: ignore[misc]  # theirs is no class variable
    _kind: ClassVar[type[Episodes]] = Episodes

    def __init__(
        self,
        num_envs: int = 64,
        preset: str = "mixed",
        num_tasks: int = 200,
        load: float | None = None,
        cluster: Cluster | None = None,
        pool: int = 64,
        seed: int = 0,
        workloads: Sequence[Workload] | None = None,
        typical: float = TYPICAL,
        copy: bool = False,
        **options: Any,
    ) -> None:
        _check_preset(preset)
        check_number("pool", pool, 1, 10**6, whole=True)
        if workloads is None:
            machine = cluster or Cluster.default()
            drawn = (WorkloadGenerator(seed + number) for number in range(pool))
            workloads = [
                (each.generate_preset(preset, num_tasks, load=load, cluster=machine), machine) for each in drawn
            ]
        self.workloads = list(workloads)
        self.episodes = self._kind(self.workloads, num_envs, scale=float(typical), **options)
        self.num_envs, self._copy = num_envs, copy
        entries, actions = self.episodes.seen.shape[1], self.episodes.mask.shape[1]
        self.single_action_space = gymnasium.spaces.Discrete(actions)
        self.single_observation_space = gymnasium.spaces.Box(0.0, MAX_ENTRY, (entries,), np.float32)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._mask: Mask = self.episodes.mask.view(np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin all episodes anew; without a seed with the next of the last seed's sequence."""
        if options:
            raise unknown_name("option of reset:", next(iter(options)), ("none: give them when it is made",))
        super().reset(seed=seed)
        self.episodes.seed(int(self.np_random.integers(2**63)) if seed is None else seed)
        return self._share(self.episodes.seen), {"action_mask": self._share(self._mask)}

    def step(self, actions: Actions) -> tuple[Observation, Floats, npt.NDArray[Any], npt.NDArray[Any], Info]:
        """Decide once in every episode; `info["final_info"]` has return and length of those that ended."""
        taken = np.asarray(actions, np.int64)
        if taken.shape != (self.num_envs,) or taken.min() < 0 or taken.max() >= self._mask.shape[1]:
            raise InputError(
                f"actions are {actions!r}, expected {self.num_envs} numbers from 0 to {self._mask.shape[1] - 1}"
            )
        episodes = self.episodes
        episodes.step(taken)
        info: Info = {"action_mask": self._share(self._mask)}
        if episodes.ended.any():
            ended = episodes.ended.copy()
            final = {"return": episodes.last_return.copy(), "length": episodes.last_length.copy()}
            # After its last decision an episode shows nothing, as in the single environment.
            info |= {"final_obs": np.zeros_like(episodes.seen), "_final_obs": ended}
            info |= {"final_info": final, "_final_info": ended}
        return (
            self._share(episodes.seen),
            self._share(episodes.reward),
            self._share(episodes.ended),
            self._truncated,
            info,
        )

    def _share(self, array: Any) -> Any:
        return array.copy() if self._copy else array


class PickingVectorEnv(SchedulingVectorEnv):
    """`num_envs` episodes of `HybridSchedulerPick-v0` in one compiled call."""

    _kind = PickingEpisodes


class _ModelPolicy(Scheduler):
    """Takes the action of a trained model."""

    clairvoyant = False

    def __init__(self, predict: Predict, name: str, typical: float) -> None:
        self.name = name
        self._predict, self._typical = predict, typical

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        action, _ = self._predict(observe(task, view, self._typical), deterministic=True)
        device = int(action)
        return float(view.kind[device]), device


def policy_from(predict: Predict, name: str, typical: float = TYPICAL) -> Scheduler:
    """Make a scheduler of a model's `predict(observation, deterministic=True) -> (action, state)`."""
    return _ModelPolicy(predict, name, typical)


def register() -> None:
    """Make `gymnasium.make("HybridScheduler-v0")` work; importing this module has done it already."""
    for name, target in ((ENV_ID, "SchedulingEnv"), (PICK_ID, "PickingEnv")):
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=f"hybrid_scheduler.env:{target}")
    for name, target in ((VECTOR_ID, "SchedulingVectorEnv"), (PICK_VECTOR_ID, "PickingVectorEnv")):
        if name not in gymnasium.registry:
            gymnasium.register(id=name, vector_entry_point=f"hybrid_scheduler.env:{target}")


register()
