"""Lists of rules in a setting, ``PATTERN=...``: what rules of strategies and rules of seats have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebalance_agent.errors import InvalidInputError

__all__ = ["RULES_MAX", "RULE_TEXT_MAX", "refuse_hidden", "split_rules"]

RULES_MAX = 100
"""Rules of one gateway: a pod has consumers of a few groups, and each group's name is matched with all rules."""

RULE_TEXT_MAX = 65_536
"""Characters of all rules together: a hundred rules with long settings."""

_RULES = re.compile(r";\s+|;?\s*\n\s*")


def split_rules(field: str, text: str) -> list[str]:
    """The rules of the setting ``field``, which are separated by ``;`` and a space, or by lines.

    Raises:
        InvalidInputError: there are too many, or the text is too long.
    """
    if len(text) > RULE_TEXT_MAX:
        raise InvalidInputError(field, f"must have at most {RULE_TEXT_MAX} characters")
    parts = [part for part in _RULES.split(text.strip().rstrip(";")) if part]
    if len(parts) > RULES_MAX:
        raise InvalidInputError(field, f"must be at most {RULES_MAX} rules")
    return parts


def refuse_hidden(field: str, patterns: Sequence[str], rules: Sequence[str]) -> None:
    """Check that no rule has the pattern of an earlier one.

    Raises:
        InvalidInputError: naming the rule that never applies; ``rules`` are the texts of ``patterns``.
    """
    for number, pattern in enumerate(patterns):
        if pattern in patterns[:number]:
            text = f"rule {rules[number][:200]!r}: never applies, because an earlier rule has the same pattern"
            raise InvalidInputError(field, text)
