"""The settings of a strategy as data, so that help, documentation and client adapters list the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_agent.errors import AssignmentError

__all__ = ["INT32_MAX", "INT32_MIN", "Setting"]

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)

DIGITS_MAX = 11
"""Characters of an int32 with its sign; longer text is not worth parsing."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One whole-number key of a consumer's configuration, with its default, bounds and meaning."""

    name: str
    default: int
    minimum: int
    maximum: int
    meaning: str

    def parse(self, text: str) -> int:
        """Read a configured value.

        Raises:
            AssignmentError: it is not a whole number between ``minimum`` and ``maximum``.
        """
        digits = text.removeprefix("-")
        if len(text) <= DIGITS_MAX and digits.isascii() and digits.isdigit():
            value = int(text)
            if self.minimum <= value <= self.maximum:
                return value
        raise AssignmentError(
            f"{self.name}: must be a whole number from {self.minimum} to {self.maximum}, not {text[:40]!r}"
        )

    def of(self, config: Mapping[str, str]) -> int:
        """The value in ``config``, or the default.

        Raises:
            AssignmentError: as `parse`.
        """
        text = config.get(self.name)
        return self.default if text is None else self.parse(text)
