"""Sends a consumer's admin requests on a separate thread and connection, with a timeout.

kafka-python calls assignors on the consumer's I/O thread, where no call of the same consumer can ever return.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from kafka.admin import KafkaAdminClient

from rebalance_agent.errors import ClusterError

__all__ = ["ANSWER_SECONDS", "AdminThread"]

ANSWER_SECONDS = 2.0
"""Time that a rebalance waits for an answer: less than a session timeout, more than a healthy cluster needs."""

_T = TypeVar("_T")
_NOT_SHARED = ("metric_reporters", "metrics_num_samples", "metrics_sample_window_ms")


class AdminThread:
    """An admin client with the addresses and credentials of a consumer's ``configs``."""

    def __init__(self, configs: Mapping[str, Any]) -> None:
        """Store the connection settings of ``configs``. The first `ask` connects."""
        names = KafkaAdminClient.DEFAULT_CONFIG.keys() - set(_NOT_SHARED)
        self._configs = {name: value for name, value in configs.items() if name in names}
        self._busy = threading.Lock()

    def ask(self, question: Callable[[KafkaAdminClient], _T], seconds: float = ANSWER_SECONDS) -> _T:
        """Run ``question`` with an admin client, and return its result.

        Only one question runs at a time, so that a cluster that does not answer accumulates no threads.

        Raises:
            ClusterError: it failed, did not return within ``seconds``, or the previous one still runs.
        """
        if not self._busy.acquire(blocking=False):
            raise ClusterError("the cluster has not responded to the previous request")
        answer: Future[_T] = Future()
        try:
            threading.Thread(
                target=self._run, args=(question, answer, seconds), name="rebalance-agent-admin", daemon=True
            ).start()
        except RuntimeError as error:  # no more threads are allowed
            self._busy.release()
            raise ClusterError(f"the request to the cluster failed: {error}") from error
        try:
            return answer.result(seconds)
        except TimeoutError:
            raise ClusterError(f"the cluster did not respond within {seconds:g} s") from None
        except Exception as error:
            raise ClusterError(f"{type(error).__name__}: {error}") from error

    def _run(self, question: Callable[[KafkaAdminClient], _T], answer: Future[_T], seconds: float) -> None:
        limits = {"bootstrap_timeout_ms": round(seconds * 1000), "request_timeout_ms": round(seconds * 1000)}
        try:
            with KafkaAdminClient(**{**self._configs, **limits}) as admin:
                result = question(admin)
        except BaseException as error:  # noqa: BLE001 - passed to the caller of `ask`
            self._busy.release()
            answer.set_exception(error)
        else:
            self._busy.release()
            answer.set_result(result)
