"""The place where a member runs: pod, node, workload."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.errors import InvalidInputError

__all__ = ["WHERE_MAX", "Workload"]

WHERE_MAX = 1_024
"""Maximum number of characters of one downward-API value. Names of Kubernetes objects have at most 253; an image may
include a digest."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The place where a member runs, from Kubernetes' downward API. Users recognise pods better than member ids."""

    pod: str | None = None
    node: str | None = None
    workload: str | None = None
    image: str | None = None

    def __post_init__(self) -> None:
        """Check lengths: the values are kept for each member and repeated in each generation event.

        Raises:
            InvalidInputError: a value has more than `WHERE_MAX` characters.
        """
        for name in ("pod", "node", "workload", "image"):
            if len(getattr(self, name) or "") > WHERE_MAX:
                raise InvalidInputError(f"where.{name}", f"must have at most {WHERE_MAX} characters")
