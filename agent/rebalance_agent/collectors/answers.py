"""Waits for the admin client's answers itself: a request that librdkafka gives up can end the process.

When the answer to a request comes after librdkafka's own limit for it, librdkafka 2.16 aborts (``eonce->refcnt > 0``,
or memory that is freed twice): a broker that hangs for some seconds is enough. So its limit is far above ours, and
above its ``socket.timeout.ms``, with which a request ends cleanly.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

__all__ = ["REQUEST_TIMEOUT_S", "in_time"]

REQUEST_TIMEOUT_S = 300.0
"""What librdkafka is told. Nobody waits so long."""

_Key = TypeVar("_Key")


def in_time(futures: Mapping[_Key, Future[Any]], seconds: float) -> dict[_Key, Future[Any]]:
    """The answers that came within ``seconds``; in place of each other one the `KafkaException` that it timed out."""
    answered, _ = wait(futures.values(), seconds)
    return {key: future if future in answered else _timed_out() for key, future in futures.items()}


def _timed_out() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))  # noqa: SLF001 - librdkafka's own spelling
    return future
