"""Settings that the strategies with standbys share."""

from __future__ import annotations

import re

from rebalance_agent.assignors.strategy_settings import Setting, decimal_number, whole_number
from rebalance_agent.groupprotocol.standby_user_data import PROCESS_ID_MAX, PROCESS_ID_SETTING

__all__ = [
    "NUM_STANDBYS",
    "PROCESS_ID",
    "STANDBYS_MAX",
    "STATE_FACTOR_MAX",
    "state_factor",
    "topic_name",
]

STANDBYS_MAX = 100
"""Maximum copies of one unit: more than are useful, and few enough for a message."""

NUM_STANDBYS = whole_number(
    name="assignment.num.standbys",
    default=0,
    minimum=0,
    maximum=STANDBYS_MAX,
    meaning="number of standby copies of each unit's state on other members; a copy costs disk and network",
    shared=True,
)

STATE_FACTOR_MAX = 1_000_000.0
"""No limit in practice: more than the members of a group."""


def state_factor(default: float) -> Setting[float]:
    """Return the setting that limits how much state comes before balance."""
    return decimal_number(
        name="assignment.max.state.factor",
        default=default,
        minimum=1.0,
        maximum=STATE_FACTOR_MAX,
        meaning="with standbys, the maximum number of units of a member, as a multiple of its share (rounded up), "
        "while units stay with their state until other members' standbys have caught up; 1: balance has priority",
        shared=True,
    )


_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def _process_id(text: str) -> str:
    if len(text) > PROCESS_ID_MAX:
        raise ValueError
    return text


PROCESS_ID = Setting(
    name=PROCESS_ID_SETTING,
    default="",
    meaning="members with the same text are threads of one process and share its state; without it, each member is a "
    "separate process",
    values=f"a text of at most {PROCESS_ID_MAX} characters",
    read=_process_id,
)


def topic_name(text: str) -> str:
    """Return ``text`` without surrounding blanks.

    Raises:
        ValueError: it is not a valid name of a Kafka topic.
    """
    name = text.strip()
    if _TOPIC.fullmatch(name) is None or name in {".", ".."}:
        raise ValueError(f"{name[:40]!r} is not a topic name")
    return name
