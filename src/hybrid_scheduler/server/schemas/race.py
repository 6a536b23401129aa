"""What learners tell about themselves."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from hybrid_scheduler import registry
from hybrid_scheduler.server.schemas.base import Number, Schema

_VERSION = "Models that have replaced one another in this race; 0: it decides by what it started with."
_BESIDE = "Whether it learns in a process of its own; then what it learns counts 50 tasks later."


class ForestInsight(Schema):
    """How a forest stands (hybrid_ml)."""

    kind: Literal["forest"]
    version: int = Field(description=_VERSION)
    beside: bool = Field(description=_BESIDE)
    retrains: int = Field(description="Fits of this model, lessons before the race included.")
    last_retrain: int | None = Field(
        description="The newest task when the last forest began to decide; null: none in this race yet."
    )
    feature_importance: dict[str, Number] = Field(
        description="How much each feature matters to the predicted GPU share; they add up to 1.",
        examples=[{"compute_intensity": 0.6, "size": 0.4}],
    )
    share_mae: Number = Field(
        description="Mean absolute error of the predicted GPU share (0 to 1) against the share that was best in "
        "retrospect, on the tasks between the last two fits, which the forest of that time had not seen; null: only "
        "one fit yet."
    )
    share_r2: Number = Field(
        description="R² of the same predictions; null also where the best shares were all equal."
    )
    share_tested: int = Field(description="Tasks that these two are about.")
    seconds_mae: Number = Field(
        description="Mean absolute error, in seconds, of the execution times that it predicted before deciding, "
        "on all classes of devices that can run the task."
    )
    seconds_r2: Number = Field(description="R² of the same predictions.")
    seconds_tested: int = Field(description="Tasks that these two are about: the last ones, 1000 at most.")


class AgentInsight(Schema):
    """How an agent stands (rl_agent)."""

    kind: Literal["agent"]
    version: int = Field(description=_VERSION)
    beside: bool = Field(description=_BESIDE)
    epsilon: Number = Field(description="Share of decisions by lot, 0 to 1.")
    loss: Number = Field(description="Of the last lesson; null before the first one.")
    reward: Number = Field(
        description="What a decision earns lately: a running mean, in typical tasks; 0 would cost nothing."
    )
    steps: int = Field(description="Gradient steps, lessons before the race not included.")
    updates: int = Field(description="Lessons of this race that have changed its weights.")


class OtherInsight(Schema):
    """What a policy from elsewhere tells about itself."""

    kind: Literal["other"]
    values: dict[str, Any]


Insight = Annotated[ForestInsight | AgentInsight | OtherInsight, Field(discriminator="kind")]


class Retrain(Schema):
    """A fit of the forest."""

    task: int = Field(description="The newest task when the new forest began to decide.")
    samples: int = Field(description="Tasks that it was fitted on.")
    mae: Number = Field(description="As share_mae: of the forest before, on tasks that it had not seen.")
    r2: Number = Field(description="As share_r2.")
    tested: int = Field(description="Tasks that both are about.")
    reason: Literal["first", "interval", "drift"] = Field(
        description="first: there was none; interval: it was time and worth it; drift: the work had changed."
    )
    seconds: Number = Field(description="Wall time of the fit.")


class AgentPoint(Schema):
    """How the agent stood after a lesson."""

    task: int = Field(description="The newest task when the lesson began to count.")
    epsilon: Number
    loss: Number
    reward: Number = Field(description="Running mean, in typical tasks.")


class ForestHistory(Schema):
    """The last fits of a forest."""

    kind: Literal["forest"]
    points: list[Retrain] = Field(description="Newest last, 30 at most.")


class AgentHistory(Schema):
    """The last lessons of an agent."""

    kind: Literal["agent"]
    points: list[AgentPoint] = Field(description="Newest last, 60 at most.")


History = Annotated[ForestHistory | AgentHistory, Field(discriminator="kind")]
Histories = dict[str, History]
told: TypeAdapter[Histories] = TypeAdapter(Histories)
HISTORIES = "How the last lessons of every scheduler that learns went."


FEATURES = (
    "size (problem size N), intensity (0 to 1), memory (MB), GPU share (the best one, were the cluster idle), best "
    "time (shortest whole time on any device, s), then every scheduler by its name: its turnaround, s."
)
LOG_SIZES = (
    "Whether the edges of the sizes are spaced by factors, as they are if the largest is over 20 times the least."
)
SPEEDUP = (
    "[size][intensity]: median of log2(time on a CPU / time on a GPU) of the tasks there, whole; 1: the GPU takes "
    "half the time, below 0: the CPU is faster; null: none seen that both can run."
)
MEASURED = (
    "Whether tasks really run: times of execution are measured then, and queues are those that these times make; "
    "else everything is simulated."
)
RankBy = Literal["mean_turnaround", "p95_turnaround", "avg_time", "mean_waiting", "energy", "cost"]


class SchedulerEntry(Schema):
    """A line of the registry."""

    name: str = Field(examples=["eft"])
    label: str = Field(description="Its name for people, options included.", examples=["Hybrid ML"])
    short: str = Field(description="A few letters for narrow columns.", examples=["ML"])
    kind: registry.Kind
    style: registry.Style
    summary: str = Field(examples=["whole task where it ends first (StarPU's dm)"])
    sighted: str = Field(description="What it knows of the true execution times.", examples=["yes"])
    featured: bool = Field(description="Takes part when nothing else is asked for.")
    racing: bool = Field(description="Takes part now.")


class Device(Schema):
    """A device of the cluster."""

    index: int
    name: str = Field(description="A CPU that only plays it is called (emulated).", examples=["gpu0"])
    kind: str = Field(description="cpu or gpu", examples=["gpu"])
    device_class: str
    failed: bool


class WindowFigures(Schema):
    """Averages over the last tasks, 1000 at most."""

    tasks: int
    avg_time: Number = Field(description="Execution time, s.")
    mean_turnaround: Number = Field(description="From arrival to finish, s.")
    p50_turnaround: Number
    p95_turnaround: Number
    p99_turnaround: Number
    mean_waiting: Number
    energy: Number = Field(description="J per task")
    cost: Number = Field(description="USD per task")
    gpu_share: Number = Field(description="Mean share of a task on a GPU.")


class SchedulerFigures(Schema):
    """One scheduler: totals since the start, averages of the last tasks, and what its queues look like."""

    name: str = Field(examples=["oracle"])
    tasks: int
    rejected: int
    restarts: int = Field(description="Tasks started again because their GPU failed.")
    spilled: int = Field(description="Tasks that ran elsewhere than it said, because they do not fit there.")
    wins: int = Field(description="Tasks that it ended first.")
    avg_time: Number = Field(description="Mean execution time, s.")
    mean_turnaround: Number = Field(description="Mean time from arrival to finish, s.")
    total_time: Number = Field(description="Execution times added up, s.")
    energy: Number = Field(description="J in total")
    cost: Number = Field(description="USD in total")
    makespan: Number = Field(description="When its last task ends, simulated seconds.")
    makespan_over_bound: Number = Field(description="1.0 cannot be beaten by anyone.")
    backlog: Number = Field(description="Seconds of work before the mean device.")
    queue_length: int = Field(description="Shares of tasks that wait.")
    saturated: bool = Field(description="Whether its queue keeps growing.")
    utilisation: list[Number] = Field(description="Busy share of every device, last 60 simulated seconds.")
    window: WindowFigures
    turnaround_cdf: list[Number] = Field(description="Turnaround at 0 %, 5 %, … 100 % of the last tasks.")
    decision_microseconds: Number = Field(description="Wall time of a decision.")
    insight: Insight | None = Field(description="What a learner tells about itself; null: it does not learn.")


class Ranked(SchedulerFigures):
    """A scheduler and its place."""

    rank: int = Field(ge=1, description="1 is the best.")
    over_best: Number = Field(description="Its figure divided by the best one's.", examples=[1.25])


class Comparison(Schema):
    """Who leads, and how far from what is possible."""

    state: str = Field(description="ready, running, paused, stopped or failed", examples=["running"])
    tasks_processed: int
    sim_time: float = Field(description="Simulated seconds.")
    bound: Number = Field(description="Nobody can have ended all tasks so far before this moment.")
    by: RankBy = Field(description="The figure of the last tasks by which they are ranked.")
    ranking: list[Ranked]
    histories: Histories = Field(description=HISTORIES)


class Quantiles(Schema):
    """Three quantiles; null without any tasks."""

    p50: Number
    p95: Number
    p99: Number


class WinMatrix(Schema):
    """Who beats whom, about the last tasks (2000 at most)."""

    tasks: int
    schedulers: list[str]
    wins: list[list[int]] = Field(description="[i][j]: tasks that scheduler i ended before scheduler j.")
    share: list[list[Number]] = Field(description="[i][j]: of the tasks that one of the two ended first, i's share.")


class CorrelationMatrix(Schema):
    """What goes with what, about the last tasks (2000 at most)."""

    tasks: int
    features: list[str] = Field(description=FEATURES, examples=[["size", "intensity", "memory", "eft", "oracle"]])
    correlation: list[list[Number]] = Field(description="[i][j]: Pearson's r of features i and j, -1 to 1.")


class SizeDistribution(Schema):
    """How large the last tasks are (2000 at most)."""

    tasks: int
    edges: list[float] = Field(description="Edges of the bins; one more than there are counts.")
    counts: list[int]
    log_sizes: bool = Field(description=LOG_SIZES)
    quantiles: Quantiles = Field(description="Of the sizes.")


class Heatmap(Schema):
    """Where the GPU pays, by size and intensity, about the last tasks (2000 at most)."""

    tasks: int
    size_edges: list[float]
    log_sizes: bool = Field(description=LOG_SIZES)
    intensity_edges: list[float]
    best_gpu_share: list[list[Number]] = Field(
        description="[size][intensity]: best share on a GPU of the mean task there; null: none seen."
    )
    gpu_wins: list[list[Number]] = Field(
        description="[size][intensity]: tasks that are faster whole on a GPU, 0 to 1."
    )
    speedup: list[list[Number]] = Field(description=SPEEDUP)


class SchedulerLoad(Schema):
    """How busy one scheduler keeps the devices."""

    name: str
    utilisation: list[Number] = Field(description="Busy share by device, 0 to 1.")
    cpu: Number = Field(description="Mean of the CPUs; null without any.")
    gpu: Number = Field(description="Mean of the GPUs that work; null without any.")
    backlog: Number = Field(description="Seconds of work before the mean device.")
    queue_length: int
    saturated: bool


class Utilization(Schema):
    """Busy shares by scheduler and device."""

    sim_time: float
    seconds: float = Field(description="Simulated seconds that are looked at.")
    devices: list[Device]
    schedulers: list[SchedulerLoad]
