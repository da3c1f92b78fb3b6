"""The observer's settings for the source of generations, and for sharing groups with replicas."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from rebalance_agent.runtime.settings.text_types import ReplicasGroup

__all__ = ["GenerationSource"]


class GenerationSource(BaseSettings):
    """The observer's settings about the source of generations, and about replicas, which share the log's partitions."""

    source: Literal["auto", "offsets-topic", "frames", "describe"] = Field(
        "auto",
        description="where generations come from: `offsets-topic`, the coordinator's log; `frames`, events of gateways "
        "and of instrumented consumers that lead their groups; `describe`, only descriptions of groups, without "
        "generations of classic groups; `auto`: the log if it may be read, otherwise frames. With frames, the observer "
        "also describes all groups",
    )

    replicas_group: ReplicasGroup = Field(
        "",
        description="consumer group in which replicas of the observer share the groups; empty: this observer reports "
        "all groups",
    )

    @property
    def reads_log(self) -> bool:
        """Whether the observer reads ``__consumer_offsets`` if it has the permission."""
        return self.source in ("auto", "offsets-topic")

    @model_validator(mode="after")
    def _shared_log(self) -> Self:
        if self.replicas_group and not self.reads_log:
            raise ValueError(
                "source: must be auto or offsets-topic with replicas_group, because replicas share the partitions of "
                "that topic"
            )
        return self
