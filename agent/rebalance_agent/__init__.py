"""Shows what Kafka consumer-group rebalances cost, why they happen, what moved, and what would have been better."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
