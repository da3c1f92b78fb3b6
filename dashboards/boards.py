"""All boards, and the folder of their JSON."""

from __future__ import annotations

from pathlib import Path

from dashboards.agent import AGENT
from dashboards.fleet import FLEET
from dashboards.group import ONE
from dashboards.members import MEMBERS

__all__ = ["BOARDS", "FOLDER"]

BOARDS = (FLEET, ONE, MEMBERS, AGENT)
"""In the order of use."""

FOLDER = Path(__file__).parent / "json"
