"""The settings that strategies with standbys share."""

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
"""Maximum number of copies of one unit: more than is useful, and few enough to fit into a message."""

NUM_STANDBYS = whole_number(
    name="assignment.num.standbys",
    default=0,
    minimum=0,
    maximum=STANDBYS_MAX,
    meaning="number of standby copies of each unit's state on other members (a unit: partitions that are always "
    "assigned together); a copy costs disk and network",
    shared=True,
)

STATE_FACTOR_MAX = 1_000_000.0
"""In practice this is no limit: groups have fewer members."""


def state_factor(default: float) -> Setting[float]:
    """Return the setting that limits how far units may stay with their state at the cost of balance."""
    return decimal_number(
        name="assignment.max.state.factor",
        default=default,
        minimum=1.0,
        maximum=STATE_FACTOR_MAX,
        meaning="with standbys: units stay on members that have their state until other members' standbys have caught "
        "up, but a member has at most this factor times its share of units (rounded up); 1: balance has priority",
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
    """Return the topic name in ``text``, without surrounding white space.

    Raises:
        ValueError: ``text`` is not a valid name of a Kafka topic.
    """
    name = text.strip()
    if _TOPIC.fullmatch(name) is None or name in {".", ".."}:
        raise ValueError(f"{name[:40]!r} is not a topic name")
    return name
