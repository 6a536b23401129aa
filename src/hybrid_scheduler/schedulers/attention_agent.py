"""Attention agent: a small set transformer says which of the tasks that wait an idle device takes.

Tasks wait in common. Whenever a device is idle, the network (`learning/waiting_set.py`, trained by
`learning/attention.py`) scores the shortest tasks that wait against it, and it takes the best, or none if it would
rather leave them to faster devices that are busy. By construction a device takes no task that an idle one runs
faster, and never waits while something waits that no device runs faster: devices of one kind are never idle then.

The weights are the same for every cluster: what is particular to one, how long tasks take on its devices, the agent
learns while it runs, from tasks that have ended (`learning/durations.py`). Until some have, it takes size for time;
where nothing can be learnt, as within a batch, or what was learnt is wrong, the oldest task goes to whoever is idle
unless the mean seconds of what has ended on each class say that faster devices end all that waits before. Graphs,
which the network was not trained on, are dealt out by `graph_rule.py`. Devices that are always free are decided task
by task: where each should end first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from hybrid_scheduler import learning
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.late_binding import Waiting, find_idle
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import TaskView, View, start_on, typical_seconds
from hybrid_scheduler.errors import InputError, check_number
from hybrid_scheduler.learning.durations import DurationModel, DurationTrainer, UnfinishedTasks
from hybrid_scheduler.learning.features import FeatureTable
from hybrid_scheduler.learning.insight import CurvePoint
from hybrid_scheduler.learning.model_files import load_model, save_model
from hybrid_scheduler.learning.waiting_set import (
    DEVICE_FIGURES,
    PAIR_FIGURES,
    TASK_FIGURES,
    Scratch,
    WaitingSet,
    Weights,
    observe,
    score_tasks,
    weight_shapes,
)
from hybrid_scheduler.registry import how_to_install, is_installed
from hybrid_scheduler.schedulers.fallback import EVIDENCE, TINY, sum_errors
from hybrid_scheduler.schedulers.graph_rule import (
    close_account,
    keeps_account,
    note_trials,
    open_account,
    pick_in_graph,
    read_history,
)
from hybrid_scheduler.schedulers.learner import Learner
from hybrid_scheduler.schedulers.scheduler import Evidence

FEATURES = (
    "log length", "log age", "log seconds until free", "asks", "log regret", "log slowdown",
)  # fmt: skip
SHIPPED = Path(learning.__path__[0]) / "pretrained" / "attention_agent.model"
WINDOW = 32  # tasks that the network looks at: the shortest that wait
BLOCK = 10  # tasks between two looks at what has ended
TREES, DURATION_WINDOW, INTERVAL, TOLERANCE = 20, 1000, 50, 0.05  # of the model of durations
RECENT = 100  # blocks whose durations are predicted again with every new model
ROOM = 1024  # rows of the table of expected seconds at first
ALIKE = 3.0  # times that the mean seconds of two classes may differ by chance
PATIENCE = 40.0  # tasks that have ended without a model of durations, from which on the means count
WRONG = 1.1  # errors of a model that is worse than the means, over theirs
MOST = 1 << 17  # rows that it keeps at most: what has waited longer counts as unknown


class AttentionAgent(Learner):
    """Late binding by a network that was trained once, on random clusters, and serves any of them at once."""

    name = "attention_agent"
    batch_mode = True  # a block ends with an empty pool, so its size is part of what happens
    reads_history = True
    shared = ("_trainer", "_unfinished", "_model")
    runtime_options = ("online", "window")
    zero_shot = True
    trains_on_clusters = True

    def __init__(
        self,
        window: Annotated[int, "tasks that it looks at, the shortest that wait"] = WINDOW,
        online: Annotated[bool, "whether it learns durations while it runs"] = True,
        model: Annotated[str, "model file to start from; the one that comes with the package if absent"] = "",
        seed: Annotated[int, "seed of the model of durations"] = 0,
    ) -> None:
        check_number("attention_agent: window", window, 1, 4096, whole=True)
        check_number("attention_agent: seed", seed, 0, 2**53, whole=True)
        self.learn_every = BLOCK if online else 0
        self._trainer = DurationTrainer(INTERVAL, seed, TREES, DURATION_WINDOW, TOLERANCE)
        self._unfinished = UnfinishedTasks()
        self._model: DurationModel | None = None
        self._version, self._steps, self._shape = 0, 0, dict[str, int]()
        self.curve: list[CurvePoint] = []
        self.seconds = np.ones((0, 1))  # expected, of the block's tasks
        self.known = np.zeros(2, np.int64)  # rows of the table that are in use, from one to another
        self.table, self.table_seconds = np.zeros((0, 4)), np.zeros((0, 1))  # ready, size, intensity, memory
        self.moment = np.full(1, -np.inf)  # of the last question
        self.by_row = np.zeros(1, np.bool_)  # whether the table has rows of one block, a graph
        self.has_model, self.is_foreign = np.zeros((2, 1), np.bool_)  # of durations; one that was learnt elsewhere
        self.graph = close_account()  # what has ended in the graph that runs
        self._recent = deque[FeatureTable](maxlen=RECENT)
        self.window = window
        self.length = np.zeros(0)
        self._allocate(1, 1)
        self.load(model or SHIPPED)

    def _allocate(self, devices: int, classes: int) -> None:
        window, width = self.window, weight_shapes()["task_bias"][0]
        self.position, self.order = np.zeros((2, window), np.int64)
        self.best, self.need, self.age = np.zeros((3, window))
        self.expected = np.zeros((window, classes))
        self.left, self.load_ahead = np.zeros((2, devices))
        self.idle, self.assigned, self.members = np.zeros((3, classes))
        self.busy = np.zeros(classes, np.bool_)
        self.length = self.length if len(self.length) == classes else np.zeros(classes)
        self.tasks, self.devices = np.zeros((window, TASK_FIGURES)), np.zeros((devices, DEVICE_FIGURES))
        self.pairs, self.allowed = np.zeros((window, devices, PAIR_FIGURES)), np.zeros(window + 1, np.bool_)
        self.task_hidden, self.scores = np.zeros((window, width)), np.zeros(window + 1)
        self.device_hidden, self.device_key, self.device_value = np.zeros((3, devices, width))
        self.asking_hidden, self.vector, self.other = np.zeros((3, width))
        self.attention = np.zeros(max(window, devices))

    # --- deciding --------------------------------------------------------------------------------------------------

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Predict how long a block's tasks take; keep it for as long as they wait."""
        classes = int(view.device_class.max()) + 1
        if (len(view.free), classes) != (len(self.left), len(self.idle)):
            self._allocate(len(view.free), classes)
        self.members[:] = np.maximum(np.bincount(view.device_class, minlength=classes), 1)
        features = FeatureTable.from_tasks(tasks)
        self.seconds = self._predict(tasks, features, view, classes)
        self.by_row[0], self.has_model[0] = tasks.has_edges, self._model is not None
        self.is_foreign[0] = self._model is not None and self._version == 0
        self.graph = close_account()
        if tasks.has_edges:
            self.table_seconds, self.known[:] = self.seconds, 0
            if len(view.history):
                self.graph = open_account(tasks, classes, self.predict_seconds())
        elif view.queued:
            self._note(tasks, features)

    def predict_seconds(self) -> Floats | None:
        """Return what the model of durations expects."""
        return self.seconds if self._model is not None else None

    def _predict(self, tasks: Tasks, features: FeatureTable, view: View, classes: int) -> Floats:
        model = self._model
        if model is not None and len(model.classes) >= classes and set(model.names) <= set(features.names):
            return np.ascontiguousarray(model.predict(features).mean[:, :classes])
        gpu = np.isin(np.arange(classes), view.device_class[view.kind == GPU])
        # Nothing is known: seconds are in proportion to the size, and a GPU is better from a half on, as in `greedy`.
        return np.where(gpu, np.outer(tasks.size, np.ones(classes)) * (1.5 - tasks.compute_intensity)[:, None],
                        tasks.size[:, None])  # fmt: skip

    def _note(self, tasks: Tasks, features: FeatureTable) -> None:
        """Append a block to the table in which waiting tasks are looked up; a new run begins a new table."""
        first, last = self.known.tolist()
        arrival, seconds, count = tasks.arrival_time, self.seconds, len(tasks)
        begins_anew = last > first and count and arrival.min() < self.table[last - 1, 0]
        if begins_anew or self.table_seconds.shape[1] != seconds.shape[1]:
            first, last, self.moment[0] = 0, 0, -np.inf
            self.table, self.table_seconds = np.zeros((0, 4)), np.zeros((0, seconds.shape[1]))
            self._recent.clear()
        if last + count > len(self.table):
            first = max(first, last - MOST)
            room = max(ROOM, 2 * (last - first + count))
            self.table, self.table_seconds = (
                np.concatenate([each[first:last], np.zeros((room - last + first, each.shape[1]))])
                for each in (self.table, self.table_seconds)
            )
            first, last = 0, last - first
        order = np.argsort(arrival, kind="stable")
        rows = np.column_stack([arrival, tasks.size, tasks.compute_intensity, tasks.memory_required])
        self.table[last : last + count], self.table_seconds[last : last + count] = rows[order], seconds[order]
        self.known[:] = first, last + count
        self._recent.append(FeatureTable(features.names, features.rows[order]))

    def _predict_again(self, model: DurationModel) -> None:
        """Correct what is expected of the last tasks, some of which may still wait."""
        last, classes = int(self.known[1]), self.table_seconds.shape[1]
        same = [each for each in self._recent if each.names == self._recent[-1].names]
        rows = np.concatenate([each.rows for each in same]) if same else np.empty((0, 0))
        if 0 < len(rows) <= last and len(model.classes) >= classes and len(same) == len(self._recent):
            expected = model.predict(FeatureTable(same[0].names, rows)).mean[:, :classes]
            self.table_seconds[last - len(rows) : last] = expected

    @compiled
    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        """Take the task with the best score, or none."""
        if keeps_account(self.graph, view):
            read_history(self.graph, view)
            note_trials(self.graph, waiting.running, view)
            return pick_in_graph(self.graph, waiting, device, view, self.left)
        if goes_by_means(self, view):
            return pick_by_means(waiting, device, view, self.busy)
        count = gather(self, waiting)
        find_idle(waiting, view, self.idle)
        for each in range(len(self.left)):
            self.left[each] = max(view.running_end[each] - waiting.now, 0.0)
        now = WaitingSet(
            self.expected, self.need, self.age, self.left, self.idle, self.length, self.order, self.load_ahead,
            self.assigned, self.members, self.tasks, self.devices, self.pairs, self.allowed,
        )  # fmt: skip
        observe(now, count, device, view, waiting.now > self.moment[0])
        self.moment[0] = waiting.now
        room = Scratch(
            self.task_hidden, self.device_hidden, self.device_key, self.device_value, self.asking_hidden, self.vector,
            self.other, self.attention,
        )  # fmt: skip
        score_tasks(self.weights, now, count, device, room, self.scores)
        best = -1
        for each in range(count + 1):
            if self.allowed[each] and (best < 0 or self.scores[each] > self.scores[best]):
                best = each
        return self.position[best] if 0 <= best < count else -1

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Take the device where the task should end first."""
        best, earliest = -1, np.inf
        for device in range(len(view.free)):
            end = start_on(task, view, device) + self.seconds[task.row, view.device_class[device]]
            if task.memory_required <= view.memory[device] and (best < 0 or end < earliest):
                best, earliest = device, end
        best = max(best, 0)
        return float(view.kind[best]), best

    def evidence(self, task: TaskView, view: View) -> Evidence:
        """Return the expected durations."""
        del view
        known = self._model is not None
        return Evidence(self.seconds[task.row] if known else np.full(self.seconds.shape[1], np.nan))

    # --- learning --------------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Refit the model of durations when enough tasks have ended that it did not expect."""
        self._shape = placements.cluster.shape
        update = self._trainer.train(self._unfinished.exchange(placements))
        if update is not None:
            self._model, self._version = update, self._version + 1
            self._predict_again(update)

    def train_on_clusters(
        self,
        seed: int,
        checkpoint: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Train the network on random clusters, or on one alone; from the checkpoint on if there is one."""
        if not is_installed("torch"):
            raise InputError(f"training {self.name} needs torch, which is not installed: {how_to_install('rl')}")
        from hybrid_scheduler.learning.attention import AttentionTrainer

        trainer = AttentionTrainer(seed, cluster=cluster)
        self.set_weights(trainer.train(checkpoint, progress), trainer.decisions)
        self.curve = trainer.curve

    def forget_durations(self) -> None:
        """Forget how long tasks take; the network stays."""
        self._model = self._trainer.model = None

    @property
    def is_trained(self) -> bool:
        """Whether it knows durations."""
        return self._model is not None

    @property
    def insight(self) -> Mapping[str, Any]:
        """What there is to tell, for display."""
        return {"version": self._version, "training_steps": self._steps, "knows_durations": self.is_trained}

    def set_weights(self, weights: Weights, steps: int = 0) -> None:
        """Decide by other weights of the network."""
        self.weights, self._steps = weights, steps

    def save(self, path: str | Path) -> None:
        """Write the weights and, once there are some, the durations that it has learnt."""
        kept = {"weights": self.weights._asdict(), "steps": self._steps, "durations": self._model}
        training = {"steps": self._steps}
        save_model(kept, path, kind=self.name, features=FEATURES, training=training, cluster=self._shape)

    def load(self, path: str | Path) -> None:
        """Read what `save` or `hms train` wrote."""
        kept = load_model(path, kind=self.name)
        try:
            arrays = {name: np.asarray(kept["weights"][name], np.float64) for name in weight_shapes()}
            durations, steps = kept["durations"], int(kept["steps"])
            if durations is not None:
                durations.check()
        except Exception as error:  # a file can hold anything
            message = f"{path} holds no weights of {self.name} ({type(error).__name__}): train it again"
            raise InputError(message) from error
        for name, shape in weight_shapes().items():
            if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
                raise InputError(f"{path}: '{name}' of the network has another shape or no numbers: train it again")
        self._model = self._trainer.model = durations if isinstance(durations, DurationModel) else None
        self.set_weights(Weights(**arrays), steps)


@jitable
def gather(agent: Any, waiting: Waiting) -> int:
    """Collect the shortest of the tasks that wait, with what is known of them; return how many they are."""
    count, room = 0, agent.window
    for position in range(waiting.length):
        row = waiting.row[position]
        known = look_up(agent, waiting, row)
        least = np.inf
        for kind in range(len(agent.idle)):
            least = min(least, expect(agent, waiting, row, known, kind))
        if count == room and least >= agent.best[count - 1]:
            continue
        place = count if count < room else room - 1
        while place > 0 and agent.best[place - 1] > least:
            agent.best[place], agent.position[place] = agent.best[place - 1], agent.position[place - 1]
            place -= 1
        agent.best[place], agent.position[place] = least, position
        count = min(count + 1, room)
    for place in range(count):
        row = waiting.row[agent.position[place]]
        known = look_up(agent, waiting, row)
        agent.need[place] = waiting.memory_required[row]
        agent.age[place] = waiting.now - waiting.ready_time[row]
        for kind in range(len(agent.idle)):
            agent.expected[place, kind] = expect(agent, waiting, row, known, kind)
    return count


@jitable
def goes_by_means(agent: Any, view: View) -> bool:
    """Whether the means of what has ended say more: nothing was learnt, as within a batch, or wrongly elsewhere."""
    number, own, mean = sum_errors(view)
    if agent.has_model[0]:
        return agent.is_foreign[0] and number >= EVIDENCE and own > WRONG * mean
    return number >= (EVIDENCE if agent.by_row[0] else PATIENCE)


@jitable
def pick_by_means(waiting: Waiting, device: int, view: View, busy: Any) -> int:
    """Take the oldest task that fits, unless faster devices should end all that waits before this one ends it."""
    kind = view.device_class[device]
    find_busy(waiting, view, busy)
    if view.ended[kind, 0] == 0.0 and busy[kind]:
        return -1  # one device finds out how slow its class is, not all
    own, rate, least = typical_seconds(kind, view.ended), 0.0, np.inf
    for each in range(len(view.free)):
        other = typical_seconds(view.device_class[each], view.ended)
        rate += 1.0 / max(other, TINY) if other < own else 0.0
        least = min(least, other)
    if own > ALIKE * least and own * rate > waiting.length:
        return -1
    for position in range(waiting.length):
        row = waiting.row[position]
        fits = waiting.memory_required[row] <= view.memory[device]
        if fits and waiting.times[min(row, len(waiting.times) - 1), kind] != np.inf:
            return position
    return -1


@jitable
def find_busy(waiting: Waiting, view: View, busy: Any) -> None:
    """Find the classes of which a device is at work."""
    busy[:] = False
    for device in range(len(view.free)):
        busy[view.device_class[device]] |= waiting.running[device] >= 0


@jitable
def expect(agent: Any, waiting: Waiting, row: int, known: int, kind: int) -> float:
    """Return the expected seconds of a task on a class; inf where it is known to be impossible."""
    if waiting.times[min(row, len(waiting.times) - 1), kind] == np.inf:
        return np.inf
    return agent.table_seconds[known, kind] if known >= 0 else 1.0


@jitable
def look_up(agent: Any, waiting: Waiting, row: int) -> int:
    """Return where the table has a task, found by its time and told from its contemporaries by its figures; or -1."""
    if agent.by_row[0]:
        return row
    ready, low, high = waiting.ready_time[row], agent.known[0], agent.known[1]
    while low < high:
        middle = (low + high) // 2
        if agent.table[middle, 0] < ready:
            low = middle + 1
        else:
            high = middle
    while low < agent.known[1] and agent.table[low, 0] == ready:
        same = agent.table[low, 1] == waiting.size[row] and agent.table[low, 2] == waiting.compute_intensity[row]
        if same and agent.table[low, 3] == waiting.memory_required[row]:
            return low
        low += 1
    return -1
