"""The former name of `rebalance_agent.clients.confluent_kafka`, kept for programs that import it."""

from __future__ import annotations

from rebalance_agent.clients.confluent_kafka import Consumer

__all__ = ["Consumer"]
