"""The rules for seats. A rule has a pattern of group names and a mode; the first rule that matches a group counts.

Roles without kafka-python also check these settings, so this module imports none of the modules that read frames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.rule_texts import RuleList, parse_rule_texts
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode, SeatSettings
from rebalance_agent.model.group import GroupType
from rebalance_agent.visible_names import did_you_mean

__all__ = [
    "ADMISSION_SECONDS_MAX",
    "ANSWER_SECONDS",
    "BETWEEN",
    "HOLD",
    "KEEP",
    "KEEP_STOPPED",
    "TYPES_WITH_SEATS",
    "Between",
    "SeatRule",
    "SeatRules",
    "parse_seat_rules",
]

TYPES_WITH_SEATS = (GroupType.CLASSIC, GroupType.CONSUMER)
"""The types of groups whose members may have seats."""

FIELD = "gateway_seats"
"""The setting's name, for error messages."""

HOLD = "seats.hold.seconds"
"""Setting: how long a newcomer's JoinGroup waits for a predecessor that leaves."""

KEEP = "seats.keep.seconds"
"""Setting: how long the seat of a member that leaves is kept while no newcomer waits for it; 0: not at all."""

KEEP_STOPPED = "seats.keep.stopped"
"""Setting (true or false): whether vacant seats are kept for the rest of their time even if the gateway itself stops.
This is for pods that come back with the same volume, such as a StatefulSet's."""

BETWEEN = "seats.between.gateways"
"""Setting: whether a newcomer may take a seat of another gateway; see `Between`."""

HOLD_SECONDS_MAX = 600.0
"""Longest hold (seconds): by default, Kubernetes gives a rollout ten minutes to progress."""

KEEP_SECONDS_MAX = 300.0
"""Longest time (seconds) for which a restart may stall partitions: the default of ``max.poll.interval.ms``."""

ADMISSION_SECONDS_MAX = 60.0
"""Longest time (seconds) after the hold until newcomers join together: by then, added consumers are needed."""

ANSWER_SECONDS = 3.0
"""Longest wait (seconds) for a description of the group; after that, a newcomer's JoinGroup is forwarded unchanged. A
broker that has just started takes more than a second to answer."""

ROSTER_SECONDS = 0.5
"""Seconds between descriptions of a group in which a newcomer waits and other gateways may offer seats. This is the
longest part of a handover between gateways."""

_SETTINGS = re.compile(r",\s*(?=seats\.)")
_SWITCH = {"true": True, "false": False}
_LIMITS = {HOLD: HOLD_SECONDS_MAX, KEEP: KEEP_SECONDS_MAX}
_SETTINGS_OF_SEATS = (*_LIMITS, KEEP_STOPPED, BETWEEN)


class Between(StrEnum):
    """How the gateways of a group coordinate seats with each other."""

    NO = "false"
    GROUP = "true"
    """Through a helper group on the Kafka cluster."""
    LEASE = "lease"
    """Through Lease objects in the Kubernetes namespace of the gateways' pods."""


@dataclass(frozen=True, slots=True)
class SeatRule:
    """Groups whose whole name matches ``pattern`` have seats with ``mode``.

    ``hold_seconds``: see `HOLD`; ``keep_seconds``: see `KEEP`; ``between``: see `BETWEEN`; ``keep_stopped``: see
    `KEEP_STOPPED`.
    """

    pattern: re.Pattern[str]
    mode: SeatMode
    hold_seconds: float = SeatSettings().hold_seconds
    keep_seconds: float = 0.0
    between: Between = Between.NO
    keep_stopped: bool = False

    def __str__(self) -> str:
        """The rule as in the setting ``gateway_seats``, without values that are defaults."""
        hold = f",{HOLD}={self.hold_seconds:g}" if self.hold_seconds != SeatSettings().hold_seconds else ""
        keep = f",{KEEP}={self.keep_seconds:g}" if self.keep_seconds else ""
        between = f",{BETWEEN}={self.between}" if self.between_gateways else ""
        stopped = f",{KEEP_STOPPED}=true" if self.keep_stopped else ""
        return f"{self.pattern.pattern}={self.mode}{hold}{keep}{stopped}{between}"

    @property
    def between_gateways(self) -> bool:
        """Whether a newcomer may take a seat of another gateway."""
        return self.between is not Between.NO

    @property
    def settings(self) -> SeatSettings:
        """The limits for the seats of a group with this rule."""
        usual = SeatSettings(hold_seconds=self.hold_seconds, watches_topics=True, answer_seconds=ANSWER_SECONDS)
        if self.between_gateways:
            usual = replace(usual, roster_seconds=ROSTER_SECONDS)
        return replace(usual, vacant_seconds=self.keep_seconds) if self.keep_seconds else usual

    @property
    def forecast(self) -> LeaveForecast:
        """The expected cost of a restart. If the rule has `KEEP`, a kept seat counts as cheaper than a rebalance."""
        return LeaveForecast(kept=0.0, rebalance=1.0) if self.keep_seconds else LeaveForecast()


class SeatRules(RuleList[SeatRule]):
    """The rules for seats; a group without a rule has no seats."""

    def of(self, group: str) -> SeatRule | None:
        """See `RuleList`; also None if the rule's mode is off."""
        rule = super().of(group)
        return None if rule is None or rule.mode is SeatMode.OFF else rule


def parse_seat_rules(text: str) -> SeatRules:
    r"""Parse ``PATTERN=MODE[,seats.KEY=VALUE...]``; rules are separated like the rules in ``gateway_groups``.

    Raises:
        InvalidInputError: a rule cannot be parsed, or has an unknown mode, an unknown setting or a value out of range.
    """
    return SeatRules(parse_rule_texts(FIELD, text, _rule))


def _rule(text: str) -> SeatRule:
    pattern, equals, rest = text.partition("=")
    mode, *settings = _SETTINGS.split(rest)
    try:
        if not (pattern and equals and mode.strip() in set(SeatMode)):
            meant = did_you_mean(mode.strip(), SeatMode)
            raise ValueError(f"must be PATTERN=MODE[,seats.KEY=VALUE...]; MODE is one of {', '.join(SeatMode)}{meant}")  # noqa: TRY301 - reported like the others
        values = [_setting(setting) for setting in settings]
        seconds = {name: _seconds(name, value) for name, value in values if name in _LIMITS}
        between = [_between(value) for name, value in values if name == BETWEEN]
        hold = seconds.get(HOLD, SeatSettings().hold_seconds)
        stopped = [_switch(name, value) for name, value in values if name == KEEP_STOPPED]
        if any(stopped[-1:]) and not seconds.get(KEEP):
            raise ValueError(f"{KEEP_STOPPED} needs {KEEP}")  # noqa: TRY301 - reported like the others
        compiled = re.compile(pattern.strip(), re.DOTALL)
        return SeatRule(
            compiled,
            SeatMode(mode.strip()),
            hold,
            seconds.get(KEEP, 0.0),
            [Between.NO, *between][-1],
            any(stopped[-1:]),
        )
    except (ValueError, re.error, RecursionError) as error:
        raise InvalidInputError(FIELD, f"rule {text[:200]!r}: {error}") from None


def _setting(text: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in _SETTINGS_OF_SEATS:
        raise ValueError(f"{name[:100]!r} is not a setting of seats; the settings are: {', '.join(_SETTINGS_OF_SEATS)}")
    return name, value


def _seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        raise ValueError(f"{name}: {value[:100]!r} is not a number of seconds") from None
    if not 0 <= seconds <= _LIMITS[name]:
        raise ValueError(f"{name}: must be 0 to {_LIMITS[name]:g} seconds")
    return seconds


def _switch(name: str, value: str) -> bool:
    if value not in _SWITCH:
        raise ValueError(f"{name}: must be true or false, not {value[:100]!r}")
    return _SWITCH[value]


def _between(value: str) -> Between:
    if value not in set(Between):
        raise ValueError(f"{BETWEEN}: must be true, false or lease, not {value[:100]!r}")
    return Between(value)
