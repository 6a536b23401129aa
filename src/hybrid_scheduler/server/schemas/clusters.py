"""A simulated shared cluster: nodes, jobs, and who held what when."""

from __future__ import annotations

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Number, Schema


class ClusterNode(Schema):
    """A node."""

    model: str = Field(description="Model of its GPUs; empty without any.", examples=["V100"])
    gpus: int = Field(examples=[8])
    cores: float = Field(examples=[96.0])


class ClusterJob(Schema):
    """A job: what it asks for, and when it ran."""

    job: int = Field(description="Number of the job.", examples=[17])
    user: int = Field(examples=[3])
    gpus: int = Field(description="GPUs that it takes at once.", examples=[4])
    gpu_share: float = Field(description="Part of each of its GPUs.", examples=[1.0])
    cores: float = Field(examples=[24.0])
    arrival: float = Field(description="s", examples=[120.0])
    start: Number = Field(description="When it started first, s; null if it never ran.", examples=[180.0])
    finish: Number = Field(description="s", examples=[3780.0])
    interruptions: int = Field(description="How often it was interrupted.", examples=[0])


class ClusterStint(Schema):
    """What a job held: one line for every GPU, or for its cores if it has none."""

    job: int = Field(description="Row of the job in `jobs`.", examples=[17])
    node: int = Field(description="Row of the node in `nodes`.", examples=[2])
    gpu: int | None = Field(description="Number of the GPU on its node; null: cores.", examples=[0])
    begin: float = Field(description="s", examples=[180.0])
    end: float = Field(description="s", examples=[3780.0])


class ClusterAbsence(Schema):
    """A spot node that leaves and comes back."""

    node: int = Field(description="Row of the node in `nodes`.", examples=[2])
    notice: float = Field(description="From when on it takes no more jobs, s.", examples=[880.0])
    leave: float = Field(description="s", examples=[1000.0])
    back: float = Field(description="s", examples=[2600.0])


class ClusterRun(Schema):
    """A page of a simulation of a shared cluster: the jobs that wait or hold something in a stretch of time."""

    title: str = Field(description="What was run.", examples=["training_jobs, seed 0: 60 jobs on 16 nodes …"])
    policy: str = Field(examples=["fcfs+easy"])
    nodes: list[ClusterNode]
    jobs: list[ClusterJob]
    stints: list[ClusterStint]
    absences: list[ClusterAbsence]
    page: int = Field(description="Number of the page, from 0.", examples=[0])
    pages: int = Field(description="How many pages there are.", examples=[1])
    total_jobs: int = Field(description="Jobs on all pages.", examples=[60])
    begin: float = Field(description="When the page begins, s: the first with the first arrival.")
    end: float = Field(description="When the page ends, s: the last with the last finish.")
    bound: float = Field(description="No schedule of all jobs on nodes that stay ends before, s.")
    measures: dict[str, Number] = Field(
        description="Measures of all pages by name.", examples=[{"bounded_slowdown": 3.2}]
    )


class ClusterOption(Schema):
    """Something that can be chosen."""

    name: str = Field(examples=["sjf"])
    summary: str = Field(examples=["shortest requested time first"])
    queue: bool = Field(description="Whether there is a queue that backfilling can pass.")


class KeptJobs(Schema):
    """A run that `hms jobs --out` has kept in the folder `jobs` of the service's data."""

    name: str = Field(description="Name of its folder.", examples=["lublin"])
    source: str = Field(description="What was run.", examples=["lublin_256.swf"])
    policies: list[str] = Field(examples=[["fcfs+easy", "sjf+easy"]])
    windows: list[str] = Field(description="Its windows, or seeds of a preset.", examples=[["job 1041"]])


class ClusterOptions(Schema):
    """What can be simulated, and which runs were kept."""

    workloads: list[ClusterOption]
    orders: list[ClusterOption]
    fits: list[ClusterOption]
    backfilling: list[str]
    most_jobs: int
    kept: list[KeptJobs]
