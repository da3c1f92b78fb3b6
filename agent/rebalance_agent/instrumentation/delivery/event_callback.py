"""Calls the application's ``on_event`` with each event, on a daemon thread: no consumer waits for it."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.delivery.outbox import Batch
from rebalance_agent.instrumentation.delivery.queue_thread import QueueThread
from rebalance_agent.instrumentation.suppress import logger

__all__ = ["ON_EVENT_VARIABLE", "CallbackThread", "OnEvent", "find_callback"]

OnEvent = Callable[[dict[str, Any]], object]
"""Function that gets an event as the JSON object for a sidecar (``docs/events.md``); its result is ignored."""

ON_EVENT_VARIABLE = "REBALANCE_AGENT_ON_EVENT"


class CallbackThread(QueueThread):
    """Calls ``on_event`` with one event after the other. Only the function's first exception is logged.

    Events wait in a separate queue, so that neither the sidecar nor the callback delays the other.
    """

    def __init__(self, on_event: OnEvent) -> None:
        """Create the queue; the first event starts the thread."""
        super().__init__("rebalance-agent-on-event")
        self._on_event = on_event
        self._logged: set[str] = set()

    def _deliver(self, batch: Batch) -> None:
        for line in batch.body.splitlines():
            try:
                self._on_event(json.loads(line))
            except Exception as error:  # noqa: BLE001 - the application's
                self._log_once("on_event raised an exception; the consumer is not affected", error)
        with self._lock:
            dropped = self._outbox.dropped
            self._outbox.reported(dropped)
        if dropped:
            self._log_once(
                "events were dropped before on_event was called: on_event is too slow, and the queue was full"
            )

    def _log_once(self, text: str, error: Exception | None = None) -> None:
        if text not in self._logged:
            self._logged.add(text)
            with contextlib.suppress(Exception):  # a log handler of the user may raise, too
                logger.warning(text, exc_info=error)


def find_callback(on_event: OnEvent | None, environ: Mapping[str, str] | None = None) -> OnEvent | None:
    """Return ``on_event``, or else the function ``module:name`` in ``REBALANCE_AGENT_ON_EVENT``, or else None.

    Raises:
        InvalidInputError: the object that the variable names cannot be imported, cannot be called, or is a coroutine
        function.
    """
    name = (os.environ if environ is None else environ).get(ON_EVENT_VARIABLE)
    if on_event is None and not name:
        return None
    source = "on_event" if on_event is not None else ON_EVENT_VARIABLE
    found: Any = on_event
    if found is None:
        try:
            found = pkgutil.resolve_name(str(name))
        except Exception as error:  # noqa: BLE001 - a module of the application may raise anything
            raise InvalidInputError(
                source, f"cannot be imported: {name!r:.200}: {type(error).__name__}: {error}"
            ) from None
    if not callable(found) or inspect.iscoroutinefunction(found):
        raise InvalidInputError(source, f"must be a function that is not a coroutine, not {found!r:.200}")
    callback: OnEvent = found
    return callback
