"""The settings of a strategy as data, so that help, documentation and client adapters list the same ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rebalance_agent.errors import AssignmentError

__all__ = ["INT32_MAX", "INT32_MIN", "TEXT_MAX", "Setting", "decimal_number", "whole_number"]

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)

DIGITS_MAX = 11
"""Characters of an int32 with its sign; longer text is not worth parsing."""

TEXT_MAX = 32_767
"""Characters of a setting's text: the longest string of the Kafka protocol."""

_T = TypeVar("_T")
_DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")


@dataclass(frozen=True, slots=True)
class Setting(Generic[_T]):
    """One key of a consumer's configuration: its default, what it may be, and what it means.

    ``read`` turns text into a value, or raises ``ValueError``; ``values`` is what it takes, in words. A ``shared``
    setting holds for the whole group: the one of the member that assigns counts. The others are each member's own.
    """

    name: str
    default: _T
    meaning: str
    values: str
    read: Callable[[str], _T]
    shared: bool = False

    def describe(self) -> str:
        """The setting in one line of help."""
        whose = "; for the whole group" if self.shared else ""
        default = self.default if isinstance(self.default, int | float) else self.default or "-"
        return f"{self.name} (default {default}{whose}): {self.meaning}"

    def parse(self, text: str) -> _T:
        """Read a configured value.

        Raises:
            AssignmentError: it is not what this setting takes.
        """
        problem = f"must be {self.values}, not {text[:40]!r}"
        if len(text) <= TEXT_MAX:
            try:
                return self.read(text)
            except ValueError as error:
                problem += f": {error}" if str(error) else ""
        raise AssignmentError(f"{self.name}: {problem}")

    def of(self, config: Mapping[str, str]) -> _T:
        """The value in ``config``, or the default.

        Raises:
            AssignmentError: as `parse`.
        """
        configured = config.get(self.name)
        return self.default if configured is None else self.parse(configured)


def whole_number(
    name: str, default: int, minimum: int, maximum: int, meaning: str, *, shared: bool = False
) -> Setting[int]:
    """A setting that is a whole number within bounds (inclusive)."""

    def read(text: str) -> int:
        digits = text.removeprefix("-")
        if len(text) <= DIGITS_MAX and digits.isascii() and digits.isdigit() and minimum <= int(text) <= maximum:
            return int(text)
        raise ValueError

    return Setting(name, default, meaning, f"a whole number from {minimum} to {maximum}", read, shared)


def decimal_number(
    name: str, default: float, minimum: float, maximum: float, meaning: str, *, shared: bool = False
) -> Setting[float]:
    """A setting that is a decimal number within bounds (inclusive)."""

    def read(text: str) -> float:
        if _DECIMAL.fullmatch(text) and minimum <= float(text) <= maximum:
            return float(text)
        raise ValueError

    return Setting(name, default, meaning, f"a number from {minimum:g} to {maximum:g}", read, shared)
