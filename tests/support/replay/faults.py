"""All planted faults, in the order of the alerts."""

from __future__ import annotations

from support.replay.agent_faults import AGENT_FAULTS
from support.replay.assignment_faults import ASSIGNMENT_FAULTS
from support.replay.rebalance_faults import REBALANCE_FAULTS
from support.replay.stall_faults import STALL_FAULTS

__all__ = ["FAULTS"]

FAULTS = (*REBALANCE_FAULTS, *STALL_FAULTS, *ASSIGNMENT_FAULTS, *AGENT_FAULTS)
