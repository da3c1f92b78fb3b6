"""All boards, and the folder of their JSON."""

from __future__ import annotations

from pathlib import Path

from dashboards.agent.board import AGENT
from dashboards.fleet.board import FLEET
from dashboards.group.board import ONE
from dashboards.members.board import MEMBERS
from dashboards.service.board import SERVICE

__all__ = ["BOARDS", "FOLDER"]

BOARDS = (FLEET, SERVICE, ONE, MEMBERS, AGENT)
"""The boards in the order in which users need them."""

FOLDER = Path(__file__).parent / "json"
