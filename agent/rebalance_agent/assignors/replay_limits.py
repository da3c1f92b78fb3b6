"""Limits of replaying recorded events through a strategy: events do not contain all inputs of an assignor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rebalance_agent.assignors.strategy_settings import Setting

__all__ = ["NO_LIMITS", "ReplayLimits"]


@dataclass(frozen=True, slots=True)
class ReplayLimits:
    """Limits of one strategy for ``rebalance_agent.advice``, as texts for users; None means no limit.

    - ``unrecorded``: an input that events do not contain, so that recorded decisions cannot be reproduced. With
      ``unrecorded_with_user_data``, this applies only if members send user data.
    - ``refusal``: why recorded groups cannot be replayed through the strategy. With ``setting``, this applies only
      until the setting is configured.
    - ``on_request``: why the strategy is not an alternative for groups that do not use it and configure none of its
      settings. ``equal_counts``: the strategy is an alternative for such groups only if they have topics of equal
      partition counts.
    """

    unrecorded: str | None = None
    unrecorded_with_user_data: bool = False
    refusal: str | None = None
    setting: Setting[Any] | None = None
    on_request: str | None = None
    equal_counts: bool = False


NO_LIMITS = ReplayLimits()
"""Limits of a strategy for which events contain all inputs, and which is an alternative for every group."""
