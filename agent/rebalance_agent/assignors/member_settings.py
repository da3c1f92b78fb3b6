"""Reads members' settings from the user data that a member sent, otherwise from its configuration or a default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.model.subscription import MemberSubscription, MemberUserData

__all__ = ["not_sent", "values_of"]

_T = TypeVar("_T")


def values_of(
    setting: Setting[_T],
    members: Sequence[MemberSubscription],
    reports: Sequence[MemberUserData | None],
    config: Mapping[str, str],
) -> tuple[_T, ...]:
    """Return each member's value of ``setting``; ``reports``: the decoded user data of the members.

    Raises:
        AssignmentError: a configured value is not valid for the setting.
    """
    return tuple(
        report.settings[setting.name]
        if report and setting.name in report.settings
        else setting.unsent(member.config, config)
        for member, report in zip(members, reports, strict=True)
    )


def not_sent(
    members: Sequence[MemberSubscription],
    reports: Sequence[MemberUserData | None],
    settings: Sequence[Setting[Any]],
    errors: Mapping[str, str],
) -> dict[str, str]:
    """Return messages by member id, for members that lack a setting that others sent and that has no safe default."""
    missing: dict[str, str] = {}
    for setting in settings:
        if setting.unknown is not None and any(reports):
            for member, report in zip(members, reports, strict=True):
                if report is None and setting.name not in member.config and member.member_id not in errors:
                    missing[member.member_id] = f"it has no {setting.name}, so {setting.unknown.name} is used"
    return missing
