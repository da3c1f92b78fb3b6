"""The rules for strategies. A rule has a pattern of group names and a strategy; the first rule that matches counts.

Roles without kafka-python also check these settings, so this module imports none of the modules that read frames.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.assignors import Strategy, strategy
from rebalance_agent.assignors.units.standbys import NUM_STANDBYS
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.gateway.rule_texts import RuleList, parse_rule_texts

__all__ = ["ASSIGN_SECONDS", "Rule", "Rules", "parse_rules"]

ASSIGN_SECONDS = 5.0
"""Default for the total time (seconds) for which a group may wait for topic metadata and the assignor."""

FIELD = "gateway_groups"
"""The name of the setting, for error messages."""


_SETTINGS = re.compile(r",\s*(?=assignment\.)")


@dataclass(frozen=True, slots=True)
class Rule:
    """Groups whose whole name matches ``pattern`` are assigned by ``strategy`` with ``config``."""

    pattern: re.Pattern[str]
    strategy: Strategy
    config: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The rule as written in the setting."""
        settings = "".join(f",{name}={value}" for name, value in self.config.items())
        return f"{self.pattern.pattern}={self.strategy.name}{settings}"


class Rules(RuleList[Rule]):
    """The rules for strategies; the frames of a group without a rule are not rewritten."""


def parse_rules(text: str) -> Rules:
    r"""Parse ``PATTERN=STRATEGY[,assignment.KEY=VALUE...]``; rules are separated by ``; `` or by newlines.

    A pattern is a regular expression (write an equals sign as ``\x3d``). The value of a setting ends at the next
    ``,assignment.`` or at the end of the rule, since values may contain commas and semicolons.

    Raises:
        InvalidInputError: a rule cannot be parsed, or its strategy or a setting is unknown or unfit for a gateway.
    """
    return Rules(parse_rule_texts(FIELD, text, _rule))


def _rule(text: str) -> Rule:
    pattern, equals, rest = text.partition("=")
    name, *settings = _SETTINGS.split(rest)
    try:
        if not (pattern and equals and name):
            raise ValueError("must be PATTERN=STRATEGY[,assignment.KEY=VALUE...]")  # noqa: TRY301 - reported like the others
        chosen = strategy(name.strip())
        config = dict(map(_setting, settings))
        _refuse_misfits(chosen, config)
        return Rule(re.compile(pattern.strip(), re.DOTALL), chosen, config)
    except (AssignmentError, ValueError, re.error, RecursionError) as error:
        raise InvalidInputError(FIELD, f"rule {text[:200]!r}: {error}") from None


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"setting {text[:100]!r} must be KEY=VALUE")
    return name.strip(), value.strip()


def _refuse_misfits(chosen: Strategy, config: Mapping[str, str]) -> None:
    """Check the settings, and that the strategy needs no input that only the library inside a consumer has."""
    available = {setting.name: setting for setting in chosen.config}
    for name in config:
        if name not in available:
            names = ", ".join(available) or "none"
            raise ValueError(f"{name!r} is not a setting of {chosen.name}; its settings are: {names}")
        available[name].of(config)
    if chosen.by_load:
        raise ValueError(
            f"{chosen.name} needs each partition's lag, which a gateway does not request: run the assignor in the "
            "consumers instead"
        )
    if NUM_STANDBYS.name in available and NUM_STANDBYS.of(config):
        raise ValueError(f"{NUM_STANDBYS.name} must be 0: clients behind a gateway do not receive standby copies")
    if chosen.copies is not None and NUM_STANDBYS.name not in available:
        raise ValueError(
            f"{chosen.name} assigns copies, which clients behind a gateway do not receive: run the assignor in the "
            "consumers instead"
        )
