"""Waits for the admin client's answers with its own timeout, because librdkafka's timeout can abort the process.

If an answer comes after librdkafka's timeout for the request, librdkafka 2.16 aborts (``eonce->refcnt > 0``, or a
double free): a broker that hangs for some seconds is enough. So librdkafka's timeout is set far above ours, and above
its ``socket.timeout.ms``, which ends a request cleanly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

__all__ = [
    "LEADER_WAITS_S",
    "NO_ANSWER",
    "REQUEST_TIMEOUT_S",
    "AdminAnswers",
    "answered_offset",
    "answered_offsets",
]

REQUEST_TIMEOUT_S = 300.0
"""librdkafka's own timeout of a request, in seconds. No caller waits this long; see the module docstring."""

# librdkafka's own codes begin with an underscore.
NO_ANSWER = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN}  # noqa: SLF001
"""Codes that only mean that no broker answered; the error of the last connection is more specific."""

LEADER_WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds before each new attempt if a leader does not accept requests yet. In a new topic, this takes some 0.1 s."""

_NO_LEADER_YET = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}

_Answers = Mapping[Any, Future[Any]]
_Key = TypeVar("_Key")


class AdminAnswers:
    """Sends requests through an admin client, and waits at most ``seconds`` for the answers to each request."""

    def __init__(self, seconds: float) -> None:
        """``seconds``: the longest wait for the answers to a request."""
        self._seconds = seconds

    def __call__(
        self,
        request: Callable[..., _Answers],
        *arguments: Any,  # noqa: ANN401 - the arguments of that request
        **options: Any,  # noqa: ANN401
    ) -> dict[Any, Future[Any]]:
        """Call ``request`` (a method of the client), and return its futures when all are done.

        The future of an answer that did not come in time raises a timeout.
        """
        futures = request(*arguments, request_timeout=REQUEST_TIMEOUT_S, **options)
        answered, _ = wait(futures.values(), self._seconds)
        return {key: future if future in answered else _timed_out() for key, future in futures.items()}

    def for_one(self, request: Callable[..., Future[Any]], **options: Any) -> Any:  # noqa: ANN401
        """Return the answer to a request with one future.

        Raises:
            KafkaException: the request failed or timed out.
        """
        return self(lambda **more: {"": request(**more)}, **options)[""].result()


def _timed_out() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))  # noqa: SLF001 - librdkafka's own spelling
    return future


def answered_offset(answer: Future[Any]) -> int:
    """Return the offset in an answer to ListOffsets.

    librdkafka 2.16 returns `OFFSET_INVALID` and no error if the broker went down during the request.

    Raises:
        KafkaException: the answer has no offset.
    """
    offset: int = answer.result().offset
    if offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT, "its leader changed"))  # noqa: SLF001 - librdkafka's own
    return offset


def answered_offsets(ask: Callable[[], Mapping[_Key, Future[Any]]]) -> dict[_Key, int]:
    """Return the offsets in the answers to ``ask``, a request of ListOffsets.

    Brokers name a new leader in metadata before that leader accepts requests: the request is repeated for some 1.6 s.

    Raises:
        KafkaException: an answer has no offset.
    """
    waits_s = iter(LEADER_WAITS_S)
    while True:
        try:
            return {key: answered_offset(future) for key, future in ask().items()}
        except KafkaException as error:
            wait_s = next(waits_s, None)
            if wait_s is None or error.args[0].code() not in _NO_LEADER_YET:
                raise
            threading.Event().wait(wait_s)
