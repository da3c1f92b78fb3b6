"""Colours of the states of groups, for `watch` and the boards."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.model.group import GroupState

__all__ = ["STATE_COLOURS"]

STATE_COLOURS: Mapping[GroupState, str] = {
    GroupState.STABLE: "green",
    GroupState.PREPARING_REBALANCE: "red",
    GroupState.COMPLETING_REBALANCE: "orange",
    GroupState.ASSIGNING: "red",
    GroupState.RECONCILING: "orange",
    GroupState.NOT_READY: "purple",
    GroupState.EMPTY: "yellow",
}
"""In Grafana's names; those of settled states are also names of a terminal's colours.

Red and orange: members wait. Yellow: nobody consumes, which is a warning for a group that had members.
"""
