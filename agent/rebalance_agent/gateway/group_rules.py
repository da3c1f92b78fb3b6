"""Which groups the gateway rewrites, with which strategy: rules in one line of text, the first that matches counts.

Settings are checked by this alone, in roles, too, that have no package which reads Kafka's frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_agent.assignors import Strategy, strategy
from rebalance_agent.assignors.units.standbys import NUM_STANDBYS
from rebalance_agent.errors import AssignmentError, InvalidInputError

__all__ = ["ASSIGN_SECONDS", "RULES_MAX", "RULE_TEXT_MAX", "Rule", "Rules", "parse_rules"]

ASSIGN_SECONDS = 5.0
"""How long a group may wait for topics and assignor together, by default."""

RULES_MAX = 100
"""Rules of one gateway: a pod has consumers of a few groups, and every unknown name is held against all of them."""

RULE_TEXT_MAX = 65_536
"""Characters of all rules: a hundred with long settings."""

FIELD = "gateway_groups"

_RULES = re.compile(r";\s+|;?\s*\n\s*")
_SETTINGS = re.compile(r",\s*(?=assignment\.)")


@dataclass(frozen=True, slots=True)
class Rule:
    """Groups whose whole name matches ``pattern`` are assigned by ``strategy`` with ``config``."""

    pattern: re.Pattern[str]
    strategy: Strategy
    config: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The rule as it is written."""
        settings = "".join(f",{name}={value}" for name, value in self.config.items())
        return f"{self.pattern.pattern}={self.strategy.name}{settings}"


class Rules:
    """Rules in their order."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        """Without any, no group is rewritten."""
        self._rules = tuple(rules)

    def __iter__(self) -> Iterator[Rule]:
        """The rules in their order."""
        return iter(self._rules)

    def of(self, group: str) -> Rule | None:
        """The first rule that matches the whole name ``group``."""
        return next((rule for rule in self._rules if rule.pattern.fullmatch(group)), None)


def parse_rules(text: str) -> Rules:
    r"""Read ``PATTERN=STRATEGY[,assignment.KEY=VALUE...]``; rules are apart by ``;`` and a space, or by lines.

    A pattern is a regular expression (write an equals sign in it as ``\x3d``). A setting's value goes on until the
    next ``,assignment.`` or the end of the rule, since values have commas and semicolons of their own.

    Raises:
        InvalidInputError: a rule is none, or its strategy or a setting does not exist or does not fit a gateway.
    """
    if len(text) > RULE_TEXT_MAX:
        raise InvalidInputError(FIELD, f"must have at most {RULE_TEXT_MAX} characters")
    parts = [part for part in _RULES.split(text.strip().rstrip(";")) if part]
    if len(parts) > RULES_MAX:
        raise InvalidInputError(FIELD, f"must be at most {RULES_MAX} rules")
    rules = tuple(map(_rule, parts))
    for number, rule in enumerate(rules):
        if any(rule.pattern.pattern == before.pattern.pattern for before in rules[:number]):
            text = f"rule {str(rule)[:200]!r}: never counts, since a rule before it has the same pattern"
            raise InvalidInputError(FIELD, text)
    return Rules(rules)


def _rule(text: str) -> Rule:
    pattern, equals, rest = text.partition("=")
    name, *settings = _SETTINGS.split(rest)
    try:
        if not (pattern and equals and name):
            raise ValueError("must be PATTERN=STRATEGY[,assignment.KEY=VALUE...]")  # noqa: TRY301 - told with the others
        chosen = strategy(name.strip())
        config = dict(_setting(each) for each in settings)
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
    """Check settings, and that the strategy needs nothing that only a library inside the consumer has."""
    known = {setting.name: setting for setting in chosen.config}
    for name in config:
        if name not in known:
            theirs = ", ".join(known) or "none"
            raise ValueError(f"{name!r} is no setting of {chosen.name}, whose settings are: {theirs}")
        known[name].of(config)
    if chosen.by_load:
        raise ValueError(f"{chosen.name} needs each partition's lag, which a gateway does not ask for: use the library")
    if NUM_STANDBYS.name in known and NUM_STANDBYS.of(config):
        raise ValueError(f"{NUM_STANDBYS.name}: a client that does not know of its copies cannot keep any: leave it 0")
