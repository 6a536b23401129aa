"""What rl_agent sees of a decision, written down for its network and the lessons after, and how it scores it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiling import compiled, jitable
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View, start_on
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.background import Study
from hybrid_scheduler.learning.dqn import (
    REWARDS,
    Acts,
    AgentLessons,
    Knowledge,
    Lessons,
    Replay,
    Singles,
    Weights,
    new_weights,
    q_values,
)
from hybrid_scheduler.learning.durations import LearntTimes, SeenMore, TimesLessons
from hybrid_scheduler.learning.features import Known, graph_features, way_to_the_end
from hybrid_scheduler.learning.insight import NAN, POINTS, AgentHistory, AgentInsight, AgentPoint
from hybrid_scheduler.learning.model_files import check_manifest, read_manifest, write_manifest
from hybrid_scheduler.schedulers.scheduler import Scheduler


@jitable
def look(agent: Any, task: TaskView, view: View) -> int:
    """Find the candidates and write down what is seen of them; return how many there are."""
    row, classes = task.row, agent.state.shape[1]
    for candidate in range(classes):
        agent.device[candidate] = -1
    for device in range(len(view.free)):
        candidate = view.device_class[device]
        known = agent.device[candidate]
        if task.memory_required <= view.memory[device] and (known < 0 or view.free[device] < view.free[known]):
            agent.device[candidate] = device
    number, total, shortest = 0, 0.0, np.inf
    for candidate in range(classes):
        device = agent.device[candidate]
        agent.possible[row, candidate] = device >= 0
        if device >= 0:
            wait = max(view.free[device] - task.ready_time, 0.0)
            agent.wait[row, candidate] = wait
            number, total, shortest = number + 1, total + wait, min(shortest, wait)
    if number == 0:  # fits no device whole: any answer will do, the loop finds a place or rejects it
        agent.possible[row, view.device_class[0]] = True
        agent.device[view.device_class[0]] = 0
        return 1
    for candidate in range(classes):
        device = agent.device[candidate]
        if device >= 0:
            seen = agent.state[row, candidate]
            seen[0] = task.size / 10000.0
            seen[1] = np.sqrt(task.size / 10000.0)
            seen[2] = task.compute_intensity
            seen[3] = task.memory_required / 5000.0
            seen[4] = view.kind[device]
            seen[5] = view.watts[device] / 100.0
            if agent.sees_queues:
                wait = agent.wait[row, candidate]
                seen[6] = np.log1p(wait / agent.typical) / 5.0
                seen[7] = np.log1p(shortest / agent.typical) / 5.0
                seen[8] = min(max((wait - total / number) / agent.typical / 50.0, -1.0), 1.0)
    if agent.more:
        look_further(agent, task, view)
    return number


@jitable
def look_further(agent: Any, task: TaskView, view: View) -> None:
    """Write down what a wide network sees too: learnt times, and the place in a graph."""
    row, least, earliest = task.row, np.inf, np.inf
    for candidate in range(agent.state.shape[1]):
        if agent.device[candidate] >= 0:
            seconds = agent.expected[row, candidate]
            agent.ends[candidate] = start_on(task, view, agent.device[candidate]) + seconds
            least, earliest = min(least, seconds), min(earliest, agent.ends[candidate])
    for candidate in range(agent.state.shape[1]):
        if agent.device[candidate] >= 0:
            seen, seconds = agent.state[row, candidate], agent.expected[row, candidate]
            seen[9] = np.log(seconds / agent.typical) / 5.0
            seen[10] = np.log(seconds / least) / 5.0
            seen[11] = np.log1p((agent.ends[candidate] - earliest) / agent.typical) / 5.0
            for number in range(agent.place.shape[1]):
                seen[12 + number] = agent.place[row, number]


@jitable
def score(agent: Any, seen: Singles) -> float:
    """Return the advantage of a candidate; the state's value is the same for all."""
    dense(seen, agent.w1, agent.b1, agent.first, True)
    dense(agent.first, agent.w2, agent.b2, agent.second, True)
    dense(agent.second, agent.w3, agent.b3, agent.out, False)
    return agent.out[1]


@jitable
def dense(inputs: Singles, weights: Singles, bias: Singles, outputs: Singles, rectified: bool) -> None:
    """Write one layer's outputs; inputs that a ReLU has set to 0 cost nothing."""
    for j in range(len(outputs)):
        outputs[j] = bias[j]
    for k in range(len(inputs)):
        if inputs[k] != 0.0:
            for j in range(len(outputs)):
                outputs[j] += inputs[k] * weights[k, j]
    if rectified:
        for j in range(len(outputs)):
            outputs[j] = max(outputs[j], np.float32(0.0))


PLACE = ("upward rank", "depth over chain", "log parents", "log children", "log MB in", "log MB out")
MORE = ("log of learnt seconds", "learnt seconds over the best", "learnt end after the earliest", *PLACE)
"""Names of the features that a wide network reads after those of a plain one; the ranks are in learnt seconds."""
SHARPNESS = 4.0  # how fast a task's weight falls as its longest chain gets shorter than the longest of all


class Sight:
    """What is seen of a block of tasks: expected seconds by class, the place in the graph, and how critical it is."""

    def __init__(self, learnt: LearntTimes, tasks: Tasks) -> None:
        self.expected = learnt.predict(Known.of(tasks)).mean
        self.place = np.zeros((len(tasks), len(PLACE)), np.float32)
        self.critical = np.zeros(len(tasks))
        if tasks.has_edges:
            self._look_at_graph(tasks, self.expected.min(axis=1))

    def _look_at_graph(self, tasks: Tasks, seconds: Floats) -> None:
        depth, height, parents, children, moved_in, moved_out = graph_features(tasks).T
        rank = way_to_the_end(tasks, seconds)
        through = way_to_the_end(tasks, seconds, backwards=True) + rank - seconds
        columns = (
            rank / rank.max(),
            depth / np.maximum(depth + height, 1.0),
            np.log1p(parents) / 3.0,
            np.log1p(children) / 3.0,
            np.log1p(moved_in) / 10.0,
            np.log1p(moved_out) / 10.0,
        )
        self.place = np.column_stack(columns).astype(np.float32)
        self.critical = (through / through.max()) ** SHARPNESS


FEATURES = (
    "size / 10000", "√(size / 10000)", "compute_intensity", "memory / 5000",
    "is a GPU", "watts / 100", "log wait", "log of the shortest wait", "wait beyond the mean",
)  # fmt: skip
AUTO, NONE = "auto", "none"  # start from the lessons that a race gives (see `training.ready`), or from nothing
STATES = ("queues", "task")
TIMES = "times_"  # how the names of learnt times begin in a file
BLOCK = 2  # decisions between two lessons
MATURE = 0.1  # exploration below which the agent trusts what it knows …
FOLLY = 2.0  # … and leaves out trials that it expects to cost so many typical tasks more than the best
REHEARSED = 4000  # decisions, at least, that it makes in lessons on tasks that say more than the bare three


class CurvePoint(NamedTuple):
    """How learning stood after a lesson."""

    tasks: int
    steps: int
    loss: float
    epsilon: float
    reward: float  # running mean, in typical tasks


class RLAgent(Scheduler):
    """Learns while it runs; `pretrain` gives it a start, `save_model` and `load_model` keep what it knows."""

    name = "rl_agent"
    sighted = False
    shared = ("_lessons", "_study", "curve", "_points")
    remembered = ("state", "possible", "wait", "action")

    def __init__(
        self,
        gamma: Annotated[float, "discount: how much the future counts, 0 to 1"] = 0.9,
        epsilon: Annotated[float, "share of decisions by lot, at the start"] = 1.0,
        epsilon_min: Annotated[float, "… and in the end"] = 0.01,
        epsilon_decay: Annotated[float, "factor of epsilon per task"] = 0.9995,
        replay: Annotated[int, "decisions that are remembered"] = 50_000,
        batch: Annotated[int, "decisions of one gradient step"] = 128,
        target_update: Annotated[int, "gradient steps between two copies of the target network"] = 100,
        learning_rate: Annotated[float, "step size of Adam"] = 5e-4,
        steps_per_task: Annotated[float, "gradient steps per task"] = 0.25,
        energy_weight: Annotated[float, "weight of energy against time, 0 to 1"] = 0.5,
        reward: Annotated[str, "price, turnaround or execution"] = "price",
        state: Annotated[str, "queues, or task: the bare task without the queues"] = "queues",
        online: Annotated[bool, "whether it learns while it runs"] = True,
        beside: Annotated[int, "learn in another process: this many tasks later, -1 as soon as it can be, 0 not"] = 0,
        model: Annotated[str, "model file to start from; auto: what lessons taught, none: from nothing"] = AUTO,
        seed: Annotated[int, "seed of weights and lots"] = 0,
    ) -> None:
        if reward not in REWARDS:
            raise InputError(f"rl_agent: reward is '{reward}', expected {', '.join(REWARDS)}")
        for name, value in (("gamma", gamma), ("epsilon", epsilon)):
            if not 0 <= value <= 1:
                raise InputError(f"rl_agent: {name} is {value}, expected a number from 0 to 1")
        if state not in STATES:
            raise InputError(f"rl_agent: state is '{state}', expected {', '.join(STATES)}")
        self.learn_every = BLOCK if online else 0
        self.sees_queues = state == "queues"
        self._seed = seed
        self._generator = np.random.default_rng([seed, 0xA6E])
        self._demonstration = np.empty(0, np.int64)
        self._lessons = AgentLessons(
            network=Lessons(new_weights(len(FEATURES), seed), gamma, learning_rate, batch, target_update),
            replay=Replay(replay),
            reward=reward,
            steps_per_task=steps_per_task,
            epsilon=float(epsilon),
            epsilon_min=epsilon_min,
            decay=epsilon_decay,
            seed=seed,
        )
        self._shape: dict[str, int] = {}  # devices by class where it last learnt
        self.curve: deque[CurvePoint] = deque(maxlen=20_000)
        self._decisions = 0
        self._points = deque[AgentPoint](maxlen=POINTS)
        self._updates, self._earned = 0, NAN
        self.weigh_energy(energy_weight)
        self._study = Study(self._lessons, beside)
        self._times: LearntTimes | None = None
        self.more = False
        self._critical: Floats | None = None
        self.expected, self.place, self.ends = np.empty((0, 1)), np.empty((0, 1), np.float32), np.zeros(1)
        self.classes = 1
        self._take(self._lessons.knowledge)
        self._prepare_room(0)
        self.model = model or NONE  # in a spec, none is read as nothing
        if self.model not in (AUTO, NONE):
            self.load_model(model)

    # --- deciding ----------------------------------------------------------------------------------------------

    def _prepare_room(self, count: int) -> None:
        """Make room for what is seen and done in a block; the lesson after it reads it again."""
        classes = self.classes
        self.state = np.zeros((count, classes, len(self.w1)), np.float32)
        self.possible = np.zeros((count, classes), np.bool_)
        self.wait = np.zeros((count, classes))
        self.action = np.zeros(count, np.int64)
        self.guide = np.full(count, -1, np.int64)  # a demonstrator's choice; -1: the agent's own
        self.lot = self._generator.random((count, 2))
        self.device = np.zeros(classes, np.int64)
        hidden = len(self.b1)
        self.first, self.second, self.out = (np.zeros(n, np.float32) for n in (hidden, hidden, 2))

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Draw the lots of a block and make room for it."""
        # A class whose devices have all failed keeps its place: experience must not change its shape.
        self.classes = max(self.classes, int(view.device_class.max()) + 1)
        self._prepare_room(len(tasks))
        self._critical = None
        if self._times is not None:
            sight = Sight(self._times, tasks)
            self.expected, self.place, self.ends = sight.expected, sight.place, np.zeros(self.classes)
            self._critical = sight.critical if tasks.has_edges else None
        if len(self._demonstration):
            self.guide[:] = self._demonstration[: len(tasks)]
            self._demonstration = self._demonstration[len(tasks) :]

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Look at every candidate, then take the best, or by lot any."""
        row = task.row
        number = look(self, task, view)
        guided = self.guide[row]
        skip = int(self.lot[row, 1] * number) if self.lot[row, 0] < self.epsilon else -1
        taken, best, tried, hope = -1, -np.inf, -1, 0.0
        for candidate in range(self.state.shape[1]):
            if not self.possible[row, candidate]:
                continue
            advantage = score(self, self.state[row, candidate])
            if advantage > best:
                taken, best = candidate, advantage
            if skip == 0:
                tried, hope = candidate, advantage
            skip -= 1
        # A trial that would surely cost more than a few tasks teaches nothing new.
        if tried >= 0 and best - hope <= self.folly:
            taken = tried
        if guided >= 0 and self.possible[row, guided]:
            taken = guided
        self.action[row] = taken
        device = self.device[taken]
        return float(view.kind[device]), device

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Let the lessons study a block: here and now, or beside the decisions."""
        acts = self._acts(placements)
        knowledge: Knowledge | None = self._study.study(acts, len(acts.action))
        self._take(knowledge)
        if knowledge is not None:
            self._note(knowledge, int(placements.tasks.task_id[-1]))

    def _note(self, knowledge: Knowledge, task: int) -> None:
        self._updates += knowledge.weights is not None
        self._earned = knowledge.reward
        if np.isfinite(knowledge.loss):
            self._points.append(AgentPoint(task, knowledge.epsilon, knowledge.loss, knowledge.reward))

    def _acts(self, placements: Placements) -> Acts:
        self._shape = placements.cluster.shape
        self._decisions += len(placements)
        acts = Acts(
            state=self.state,
            possible=self.possible,
            wait=self.wait,
            action=self.action,
            times=placements.times,
            execution=placements.execution,
            turnaround=placements.finish - placements.ready if placements.tasks.has_edges else placements.turnaround,
            energy=placements.energy,
            counts=placements.cluster.counts,
            queued=placements.queued,
            weight=self._weight,
            critical=self._critical,
        )
        if placements.tasks.has_edges:  # experience goes on from decision to decision, not from row to row
            rows = np.lexsort((np.arange(len(placements)), placements.ready))
            return acts.of(rows[placements.ran[rows]])
        return acts if placements.ran.all() else acts.of(placements.ran)

    def _take(self, knowledge: Knowledge | None) -> None:
        if knowledge is None:
            return
        self._steps = knowledge.steps
        self.typical, self.epsilon = knowledge.typical, knowledge.epsilon
        self.folly = FOLLY if knowledge.epsilon <= MATURE else np.inf
        if knowledge.weights is not None:
            self.more = len(knowledge.weights.w1) > len(FEATURES)
            self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = knowledge.weights
        if np.isfinite(knowledge.loss):
            point = CurvePoint(self._decisions, knowledge.steps, knowledge.loss, knowledge.epsilon, knowledge.reward)
            self.curve.append(point)

    def weigh_energy(self, weight: float) -> None:
        """Weigh energy against time in the reward; priced seconds are not pulled by weights up to a half."""
        if not 0 <= weight <= 1:
            raise InputError(f"rl_agent: energy_weight is {weight}, expected a number from 0 to 1")
        self._weight = max(0.0, 2.0 * weight - 1.0) if self._lessons.reward == "price" else float(weight)

    def learn_beside(self, tasks: int) -> None:
        """From now on learn in another process; what is learnt counts `tasks` tasks later."""
        self._study = Study(self._lessons, tasks)

    def close(self) -> None:
        """End the process that learns beside, if there is one."""
        self._study.close()

    def pretrain(
        self,
        tasks: Tasks,
        cluster: Cluster,
        demonstrator: str = "price",
        share: float = 0.5,
        steps_per_task: float = 0.5,
        mode: str = "queued",
    ) -> None:
        """Watch another policy on a `share` of independent tasks, explore on the rest, and learn from both."""
        machine, lessons = VirtualMultiGPU(cluster=cluster, mode=mode), self._lessons
        shown = machine.run(tasks, registry.schedulers.create(demonstrator))
        device = np.where(shown.gpu_fraction >= 0.5, shown.gpu, shown.cpu)
        followed = self._generator.random(len(tasks)) < share
        self._demonstration = np.where(followed, cluster.class_index[device], -1)
        usual, lessons.steps_per_task, lessons.epsilon = lessons.steps_per_task, steps_per_task, 1.0
        self._take(lessons.knowledge)
        machine.reset()
        for first in range(0, len(tasks), BLOCK):
            placements = machine.step(tasks.part(first, first + BLOCK), self)
            self._take(lessons.study(self._acts(placements)))
        lessons.steps_per_task, lessons.epsilon = usual, lessons.epsilon_min
        self._take(lessons.knowledge)
        self._demonstration = np.empty(0, np.int64)

    def pretrain_more(self, lessons: Sequence[Tasks], cluster: Cluster) -> None:
        """Learn times from tasks that say more, then watch a planner on half of them and explore on the rest.

        The network is a new one: it reads learnt times and the place in a graph beside the task and the queues.
        """
        self._times = TimesLessons(1, self._seed).taught(SeenMore.known_of(tasks, cluster) for tasks in lessons)
        if self._times is None:
            return
        self._know(new_weights(len(FEATURES) + len(MORE), self._seed), self._times.typical)
        known = self._lessons
        known.epsilon = 1.0
        self._take(known.knowledge)
        for _ in range(max(2, -(-REHEARSED // sum(map(len, lessons))))):
            for tasks in lessons:
                self._rehearse(tasks, VirtualMultiGPU(cluster=cluster))
        known.epsilon = known.epsilon_min
        self._take(known.knowledge)

    def _rehearse(self, tasks: Tasks, machine: VirtualMultiGPU, share: float = 0.5) -> None:
        """Decide a whole lesson, a share of it as a planner would, and learn from it."""
        shown = machine.run(tasks, registry.schedulers.create("heft" if tasks.has_edges else "price"))
        device = np.where(shown.gpu_fraction >= 0.5, shown.gpu, shown.cpu)
        followed = self._generator.random(len(tasks)) < share
        self._demonstration = np.where(followed, machine.cluster.class_index[device], -1)
        machine.reset()
        self._take(self._lessons.study(self._acts(machine.step(tasks, self))))
        self._demonstration = np.empty(0, np.int64)

    def scores(self, task: TaskView, view: View) -> Floats:
        """Return what each candidate for a task of this block promises, in typical tasks; NaN: no candidate."""
        look(self, task, view)
        weights = Weights(*(getattr(self, name) for name in Weights._fields))
        rows = slice(task.row, task.row + 1)
        promised = q_values(weights, self.state[rows], self.possible[rows])[0]
        scores = np.full(len(view.free), np.nan)
        for candidate in np.flatnonzero(self.possible[task.row]):
            scores[self.device[candidate]] = promised[candidate]
        return scores

    @property
    def insight(self) -> AgentInsight:
        """Return how learning stands, seen from outside."""
        return AgentInsight(
            version=self._updates,
            beside=self._study.beside,
            epsilon=float(self.epsilon),
            loss=self._points[-1].loss if self._points else NAN,
            reward=self._earned,
            steps=self._steps,
            updates=self._updates,
        )

    @property
    def history(self) -> AgentHistory:
        """Return how the last lessons went."""
        return AgentHistory(list(self._points))

    # --- files -------------------------------------------------------------------------------------------------

    def save_model(self, path: str | Path) -> None:
        """Write the weights as a torch file (`.pth`) and its manifest."""
        import torch

        from hybrid_scheduler.files import written_whole

        tensors = {name: torch.from_numpy(getattr(self, name).copy()) for name in Weights._fields}
        tensors["typical"] = torch.tensor(self.typical, dtype=torch.float64)
        if self._times is not None:
            tensors |= {
                f"{TIMES}{name}": torch.from_numpy(part.copy()) for name, part in self._times.to_arrays().items()
            }
        whole = BytesIO()  # straight to a file, torch would write the file's name into it
        torch.save(tensors, whole)
        with written_whole(path) as scratch:
            scratch.write_bytes(whole.getvalue())
        training = {"steps": self._steps, "reward": self._lessons.reward, "epsilon": self.epsilon}
        features = FEATURES if self._times is None else (*FEATURES, *MORE)
        write_manifest(path, kind=self.name, features=features, training=training, cluster=self._shape)

    def load_model(self, path: str | Path) -> None:
        """Read weights that `save_model` wrote; exploration goes on at its minimum."""
        import torch

        check_manifest(read_manifest(path), path, self.name)
        tensors = torch.load(path, weights_only=True)
        typical = float(tensors.pop("typical"))
        weights = Weights(**{name: tensors[name].numpy() for name in Weights._fields})
        times = {name.removeprefix(TIMES): part.numpy() for name, part in tensors.items() if name.startswith(TIMES)}
        wanted = len(FEATURES) + (len(MORE) if times else 0)
        if weights.w1.shape[0] != wanted:
            raise InputError(f"{path} reads {weights.w1.shape[0]} features, this agent has {wanted}: train it again")
        self._times = LearntTimes.from_arrays(times) if times else None
        self._know(weights, typical)

    def _know(self, weights: Weights, typical: float) -> None:
        lessons, network = self._lessons, self._lessons.network
        lessons.network = Lessons(weights, network.gamma, network.learning_rate, network.batch, network.target_update)
        lessons.typical, lessons.epsilon = typical, lessons.epsilon_min
        self._take(lessons.knowledge)

    save, load = save_model, load_model
