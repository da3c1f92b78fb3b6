"""All rules, in the order of the files and the documentation."""

from __future__ import annotations

from alerts.agent import AGENT
from alerts.assignments import ASSIGNMENTS
from alerts.rebalances import REBALANCES
from alerts.recordings import RECORDINGS
from alerts.rule import Alert, RuleGroup
from alerts.stalls import STALLS

__all__ = ["ALERTS", "GROUPS"]

GROUPS: tuple[RuleGroup, ...] = (RECORDINGS, REBALANCES, STALLS, ASSIGNMENTS, AGENT)

ALERTS: tuple[Alert, ...] = tuple(rule for group in GROUPS for rule in group.rules if isinstance(rule, Alert))
