"""Annotations that several boards have."""

from __future__ import annotations

from dashboards.parts.board import Annotation
from dashboards.parts.query import GROUP, gauge

__all__ = ["deploys"]


def deploys(groups: str = GROUP, *, on: bool) -> Annotation:
    """Return marks for the time of each rollout of ``groups``; ``on``: whether they are initially shown."""
    return Annotation(
        "Deploys",
        f"{gauge('kafka_rebalance_rollout_in_progress', groups)} == 1",
        "Members are being replaced one by one",
        "{{consumergroup}}",
        "purple",
        on=on,
        moments=False,
    )
