"""Defines the user's settings of the weekly page: the objective, the rule for teams and the cost of a member."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rebalance_agent.errors import InvalidInputError

__all__ = ["NO_TEAM", "SLO", "TEAM_RULE", "MemberCost", "WeekSettings", "member_cost", "team_rule"]

SLO = 0.995
"""Default objective for the share of partition-time without a stall, as in the alerts (``slo`` in values.yaml)."""

TEAM_RULE = r"^([^-.]+)"
"""Default rule for teams: the group's name up to its first ``-`` or ``.``."""

NO_TEAM = "(no team)"
"""Team of groups that the rule does not match."""

_WHOLE = 1_000
_COST = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([A-Z]{3}|[$€£¥])")


@dataclass(frozen=True, slots=True)
class MemberCost:
    """The cost of running one member for an hour. ``currency``: a code such as EUR, or a sign."""

    per_hour: float
    currency: str

    def text(self, member_hours: float) -> str:
        """Return the cost of a number of member-hours, such as ``49.44 EUR``; from 1,000 on, without cents."""
        cost = member_hours * self.per_hour
        return f"{cost:,.{0 if cost >= _WHOLE else 2}f}\u00a0{self.currency}"


@dataclass(frozen=True, slots=True)
class WeekSettings:
    """``slo``: objective for the availability, below 1. ``team_rule``: its capturing group is the team.

    ``member_cost``: None if the user does not set a cost.
    """

    slo: float = SLO
    team_rule: re.Pattern[str] = field(default_factory=lambda: team_rule(TEAM_RULE))
    member_cost: MemberCost | None = None

    def team_of(self, group: str) -> str:
        """Return the team of a consumer group from the group's name; `NO_TEAM` if the rule does not match."""
        found = self.team_rule.search(group)
        return (found[1] if found else None) or NO_TEAM


def team_rule(text: str) -> re.Pattern[str]:
    """Return a rule for teams from its text.

    Raises:
        InvalidInputError: the text is not a regular expression with exactly one capturing group.
    """
    try:
        rule = re.compile(text)
    except re.error as error:
        raise InvalidInputError("--team-rule", f"is not a regular expression: {error}") from None
    if rule.groups != 1:
        raise InvalidInputError(
            "--team-rule", f"must have one capture group, which matches the team, not {rule.groups}"
        )
    return rule


def member_cost(text: str) -> MemberCost:
    """Return the cost of a member from a text such as ``0.12 EUR``.

    Raises:
        InvalidInputError: the text is not an amount and a currency.
    """
    found = _COST.fullmatch(text)
    if not found:
        raise InvalidInputError("--member-cost", f"must be an amount an hour and a currency, such as 0.12EUR: {text!r}")
    return MemberCost(float(found[1]), found[2])
