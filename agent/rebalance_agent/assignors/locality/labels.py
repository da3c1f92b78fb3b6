"""Labels of members and affinities of topics: two settings in text form, and their parsers.

Labels are ``key=value`` pairs separated by commas: ``zone=eu,tier=gold``. An affinity lists the labels that owners of a
topic should have, pairs separated by semicolons, topics by commas: ``orders:zone=eu;tier=gold,clicks:zone=us``. Keys
and values are letters, digits and ``. _ - /``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.groupprotocol.user_data import LABELS_SETTING

__all__ = ["AFFINITY", "LABELS", "LABELS_MAX", "Labels", "affinities_of", "labels_of"]

Labels = frozenset[tuple[str, str]]
"""Keys with their values; a key has one value."""

LABELS_MAX = 64
"""Maximum number of labels of one member, or of one topic's affinity."""

_PAIR = re.compile(r"([A-Za-z0-9._/-]{1,255})=([A-Za-z0-9._/-]{1,255})")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")  # what Kafka takes for a topic's name


def labels_of(text: str) -> Labels:
    """Parse a member's labels; an empty string means none.

    Raises:
        ValueError: the text is not valid; the message names the problem.
    """
    return _pairs(text, ",") if text else frozenset()


def affinities_of(text: str) -> dict[str, Labels]:
    """Parse the labels that topics prefer; an empty string means none.

    Raises:
        ValueError: the text is not valid; the message names the problem.
    """
    affinities: dict[str, Labels] = {}
    for part in text.split(",") if text else ():
        topic, _, labels = part.partition(":")
        if not _TOPIC.fullmatch(topic):
            raise ValueError(f"{topic[:40]!r} is not the name of a topic")
        if topic in affinities:
            raise ValueError(f"{topic[:40]!r} appears twice")
        affinities[topic] = _pairs(labels, ";")
    return affinities


def _pairs(text: str, separator: str) -> Labels:
    labels: dict[str, str] = {}
    for part in text.split(separator):
        pair = _PAIR.fullmatch(part)
        if not pair:
            raise ValueError(f"{part[:40]!r} is not key=value")
        key, value = pair.groups()
        if key in labels:
            raise ValueError(f"{key[:40]!r} appears twice")
        labels[key] = value
    if len(labels) > LABELS_MAX:
        raise ValueError(f"{len(labels)} labels are more than {LABELS_MAX}")
    return frozenset(labels.items())


def _checked_labels(text: str) -> str:
    labels_of(text)
    return text


LABELS: Setting[str] = Setting(
    name=LABELS_SETTING,
    default="",
    meaning="labels of this member, for topics that prefer certain members: zone=eu,tier=gold",
    values="labels such as zone=eu,tier=gold",
    read=_checked_labels,
)

AFFINITY: Setting[Mapping[str, Labels]] = Setting(
    name="assignment.topic.affinity",
    default={},
    meaning="labels that topics prefer in their owners: orders:zone=eu;tier=gold,clicks:zone=us"
    " (a member matches if it has all labels of the topic)",
    values="topics with labels such as orders:zone=eu;tier=gold,clicks:zone=us",
    read=affinities_of,
    shared=True,
)
