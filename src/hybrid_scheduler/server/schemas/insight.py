"""What learners tell about themselves."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

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
