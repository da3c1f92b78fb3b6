"""The settings of strategies as data, for help texts, documentation and client adapters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rebalance_agent.errors import AssignmentError

__all__ = ["INT32_MAX", "INT32_MIN", "TEXT_MAX", "Setting", "decimal_number", "whole_number"]

INT32_MAX = 2**31 - 1
"""Largest int32: the upper bound of whole numbers in user data."""
INT32_MIN = -(2**31)
"""Smallest int32."""

DIGITS_MAX = 11
"""Maximum number of characters of an int32 with its sign; longer text is rejected without parsing."""

TEXT_MAX = 32_767
"""Maximum number of characters of a setting's text: the longest string of the Kafka protocol."""

_T = TypeVar("_T")
_DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")


@dataclass(frozen=True, slots=True)
class Setting(Generic[_T]):
    """One key of a consumer's configuration: default, valid values, meaning.

    ``read`` converts text to a value, or raises ``ValueError``; ``values`` describes the valid values. A ``shared``
    setting applies to the whole group, with the value of the assigning member; other settings are each member's own.
    ``unknown`` is the shared setting that replaces the default for members that sent no value.
    """

    name: str
    default: _T
    meaning: str
    values: str
    read: Callable[[str], _T]
    shared: bool = False
    unknown: Setting[_T] | None = None

    def describe(self) -> str:
        """Return one line of help."""
        whose = "; for the whole group" if self.shared else ""
        default = self.default if isinstance(self.default, int | float) else self.default or "-"
        return f"{self.name} (default {default}{whose}): {self.meaning}"

    def parse(self, text: str) -> _T:
        """Convert a configured text to a value.

        Raises:
            AssignmentError: the text is not valid for this setting.
        """
        problem = f"must be {self.values}, not {text[:40]!r}"
        if len(text) <= TEXT_MAX:
            try:
                return self.read(text)
            except ValueError as error:
                problem += f": {error}" if str(error) else ""
        raise AssignmentError(f"{self.name}: {problem}")

    def of(self, config: Mapping[str, str]) -> _T:
        """Return the value in ``config``, or the default.

        Raises:
            AssignmentError: as `parse`.
        """
        configured = config.get(self.name)
        return self.default if configured is None else self.parse(configured)

    def unsent(self, own: Mapping[str, str], group: Mapping[str, str]) -> _T:
        """Return the value for a member that sent none: from its ``own`` or the ``group`` configuration.

        Raises:
            AssignmentError: as `parse`.
        """
        return self.of(own) if self.unknown is None or self.name in own else self.unknown.of(group)


def whole_number(
    name: str, default: int, minimum: int, maximum: int, meaning: str, *, shared: bool = False
) -> Setting[int]:
    """Return a setting that is a whole number from ``minimum`` to ``maximum`` (inclusive)."""

    def read(text: str) -> int:
        digits = text.removeprefix("-")
        if len(text) <= DIGITS_MAX and digits.isascii() and digits.isdigit() and minimum <= int(text) <= maximum:
            return int(text)
        raise ValueError

    return Setting(name, default, meaning, f"a whole number from {minimum} to {maximum}", read, shared)


def decimal_number(
    name: str, default: float, minimum: float, maximum: float, meaning: str, *, shared: bool = False
) -> Setting[float]:
    """Return a setting that is a decimal number from ``minimum`` to ``maximum`` (inclusive)."""

    def read(text: str) -> float:
        if _DECIMAL.fullmatch(text) and minimum <= float(text) <= maximum:
            return float(text)
        raise ValueError

    return Setting(name, default, meaning, f"a number from {minimum:g} to {maximum:g}", read, shared)
