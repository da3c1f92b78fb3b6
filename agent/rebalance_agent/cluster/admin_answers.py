"""Waits for the admin client's answers itself: a request that librdkafka gives up can end the process.

When the answer to a request comes after librdkafka's own limit for it, librdkafka 2.16 aborts (``eonce->refcnt > 0``,
or memory that is freed twice): a broker that hangs for some seconds is enough. So its limit is far above ours, and
above its ``socket.timeout.ms``, with which a request ends cleanly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any

from confluent_kafka import KafkaError, KafkaException

__all__ = ["REQUEST_TIMEOUT_S", "AdminAnswers"]

REQUEST_TIMEOUT_S = 300.0
"""What librdkafka is told. Nobody waits so long."""

_Answers = Mapping[Any, Future[Any]]


class AdminAnswers:
    """Asks an admin client, and waits for its answers ``seconds`` at most."""

    def __init__(self, seconds: float) -> None:
        """Nothing is asked yet."""
        self._seconds = seconds

    def __call__(
        self,
        request: Callable[..., _Answers],
        *arguments: Any,  # noqa: ANN401 - whatever that request takes
        **options: Any,  # noqa: ANN401
    ) -> dict[Any, Future[Any]]:
        """The answers to a ``request`` (a method of the client); in place of each that did not come, that it timed out.

        So none of them lets its caller wait.
        """
        asked = request(*arguments, request_timeout=REQUEST_TIMEOUT_S, **options)
        answered, _ = wait(asked.values(), self._seconds)
        return {key: future if future in answered else _timed_out() for key, future in asked.items()}

    def for_one(self, request: Callable[..., Future[Any]], **options: Any) -> Any:  # noqa: ANN401
        """The answer to a request that has only one.

        Raises:
            KafkaException: it failed, or did not come.
        """
        return self(lambda **more: {"": request(**more)}, **options)[""].result()


def _timed_out() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))  # noqa: SLF001 - librdkafka's own spelling
    return future
