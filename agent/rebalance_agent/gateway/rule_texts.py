"""Parses the lists of rules (``PATTERN=...``) in the settings for strategies and for seats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from rebalance_agent.errors import InvalidInputError

__all__ = ["RULES_MAX", "RULE_TEXT_MAX", "RuleList", "parse_rule_texts"]

RULES_MAX = 100
"""Maximum number of rules of one gateway: a pod has consumers of few groups, but each group's name is matched with all
rules."""

RULE_TEXT_MAX = 65_536
"""Maximum number of characters of all rules together: a hundred rules with long settings."""

_RULES = re.compile(r";\s+|;?\s*\n\s*")


class _Matching(Protocol):
    @property
    def pattern(self) -> re.Pattern[str]: ...


_RuleT = TypeVar("_RuleT", bound=_Matching)


class RuleList(Generic[_RuleT]):
    """An ordered list of rules; the first rule that matches a group counts."""

    def __init__(self, rules: Iterable[_RuleT] = ()) -> None:
        """Create the list; without rules, the gateway changes no group."""
        self._rules = tuple(rules)

    def __iter__(self) -> Iterator[_RuleT]:
        """Iterate over the rules in their order."""
        return iter(self._rules)

    def of(self, group: str) -> _RuleT | None:
        """Return the first rule whose pattern matches the whole name ``group``; None if no rule does."""
        return next((rule for rule in self._rules if rule.pattern.fullmatch(group)), None)


def parse_rule_texts(field: str, text: str, parse: Callable[[str], _RuleT]) -> list[_RuleT]:
    """Return the rules of the setting ``field``, separated by ``; `` or by newlines; ``parse`` parses one rule.

    Raises:
        InvalidInputError: there are too many rules, the text is too long, or a rule never applies, since an earlier
        rule has the same pattern.
    """
    if len(text) > RULE_TEXT_MAX:
        raise InvalidInputError(field, f"must have at most {RULE_TEXT_MAX} characters")
    parts = [part for part in _RULES.split(text.strip().rstrip(";")) if part]
    if len(parts) > RULES_MAX:
        raise InvalidInputError(field, f"must have at most {RULES_MAX} rules")
    rules = [parse(part) for part in parts]
    for number, rule in enumerate(rules):
        if any(rule.pattern.pattern == before.pattern.pattern for before in rules[:number]):
            problem = f"rule {str(rule)[:200]!r}: never applies, because an earlier rule has the same pattern"
            raise InvalidInputError(field, problem)
    return rules
