"""Questions to the cluster beside the consumer: by a connection, and in a thread, of their own, with an end to waiting.

kafka-python calls assignors on the thread that does the consumer's input and output: no call of the same consumer can
ever return there.
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
"""How long a rebalance may wait for an answer: less than a session timeout, and more than a healthy cluster needs."""

_T = TypeVar("_T")
_NOT_SHARED = ("metric_reporters", "metrics_num_samples", "metrics_sample_window_ms")


class AdminThread:
    """Asks the cluster of a consumer with ``configs``, by the same address and with the same rights."""

    def __init__(self, configs: Mapping[str, Any]) -> None:
        """Take over what of ``configs`` belongs to the connection. Nothing is connected before something is asked."""
        taken = KafkaAdminClient.DEFAULT_CONFIG.keys() - set(_NOT_SHARED)
        self._configs = {name: value for name, value in configs.items() if name in taken}
        self._busy = threading.Lock()

    def ask(self, question: Callable[[KafkaAdminClient], _T], seconds: float = ANSWER_SECONDS) -> _T:
        """What ``question`` returns. At most one is on its way, so that a cluster that is ill collects no threads.

        Raises:
            ClusterError: it failed, was not answered within ``seconds``, or the one before still is not.
        """
        if not self._busy.acquire(blocking=False):
            raise ClusterError("the cluster has not answered the question before this one")
        answer: Future[_T] = Future()
        try:
            threading.Thread(
                target=self._run, args=(question, answer, seconds), name="rebalance-agent-aside", daemon=True
            ).start()
        except RuntimeError as error:  # no more threads are allowed
            self._busy.release()
            raise ClusterError(f"the cluster cannot be asked: {error}") from error
        try:
            return answer.result(seconds)
        except TimeoutError:
            raise ClusterError(f"the cluster did not answer within {seconds:g} s") from None
        except Exception as error:
            raise ClusterError(f"{type(error).__name__}: {error}") from error

    def _run(self, question: Callable[[KafkaAdminClient], _T], answer: Future[_T], seconds: float) -> None:
        limits = {"bootstrap_timeout_ms": round(seconds * 1000), "request_timeout_ms": round(seconds * 1000)}
        try:
            with KafkaAdminClient(**{**self._configs, **limits}) as admin:
                result = question(admin)
        except BaseException as error:  # noqa: BLE001 - whoever asked gets it
            self._busy.release()
            answer.set_exception(error)
        else:
            self._busy.release()
            answer.set_result(result)
