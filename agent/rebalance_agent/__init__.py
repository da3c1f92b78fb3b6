"""Shows what Kafka consumer-group rebalances cost, why they happen, what moved, and what would have been better."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

__all__ = ["__version__", "instrument"]

__version__ = "0.1.0"

_Consumer = TypeVar("_Consumer")


def instrument(consumer: _Consumer, **options: Any) -> _Consumer:  # noqa: ANN401 - those of the adapters' module
    """Let ``consumer`` of a Python client report its rebalances.

    `rebalance_agent.clients.existing_consumer.instrument` describes it. The client is imported when it is called.
    """
    made: _Consumer = importlib.import_module("rebalance_agent.clients.existing_consumer").instrument(
        consumer, **options
    )
    return made
