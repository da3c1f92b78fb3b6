"""Rebalance listeners that time the callbacks of the user's own listener and report these callbacks.

The methods are those of kafka-python's ``ConsumerRebalanceListener``. Exceptions from the user's listener pass through
unchanged, so that the client behaves as it does without instrumentation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.event_builder import EventBuilder, HasTopicPartition
from rebalance_agent.instrumentation.timed import TimedCallback
from rebalance_agent.model.events import Callback

__all__ = ["AsyncRebalanceListener", "Partitions", "RebalanceListener", "is_async"]

Partitions = Iterable[HasTopicPartition]
"""The argument of a callback: partitions as objects of the client."""


class RebalanceListener:
    """Times the callbacks of ``listener``; if there is no ``listener``, only reports that the callbacks were called.

    Callbacks without partitions are not reported, with one exception: an eager member that is assigned no partitions is
    idle in the new generation, which is reported. Cooperative clients call back without partitions in every generation.
    """

    def __init__(self, listener: Any | None, builder: EventBuilder, clock: Clock, *, cooperative: bool) -> None:  # noqa: ANN401 - known by its methods only
        """Wrap ``listener``: the user's own listener, or None."""
        self._listener = listener
        self._builder = builder
        self._clock = clock
        self._cooperative = cooperative

    def on_partitions_revoked(self, revoked: Partitions) -> Any:  # noqa: ANN401 - the user's method may return anything
        """Run and report the user's revoked callback."""
        return self._call(Callback.REVOKED, revoked)

    def on_partitions_assigned(self, assigned: Partitions) -> Any:  # noqa: ANN401
        """Run and report the user's assigned callback."""
        return self._call(Callback.ASSIGNED, assigned)

    def on_partitions_lost(self, lost: Partitions) -> Any:  # noqa: ANN401
        """Run and report the user's lost callback; the partitions ``lost`` may already have other owners."""
        return self._call(Callback.LOST, lost)

    def _call(self, callback: Callback, partitions: Partitions) -> Any:  # noqa: ANN401
        with self._timed(callback, partitions):
            return self._method(callback)(partitions)

    def _timed(self, callback: Callback, partitions: Partitions) -> TimedCallback:
        concerned = tuple(partitions)  # the listener may empty the client's set
        counts = bool(concerned) or (callback is Callback.ASSIGNED and not self._cooperative)
        return TimedCallback(self._builder if counts else None, self._clock, callback, concerned)

    def _method(self, callback: Callback) -> Callable[[Partitions], Any]:
        if self._listener is None:
            return _nothing
        # KIP-429: if a listener has no on_partitions_lost, its on_partitions_revoked is called instead.
        exists = callback is not Callback.LOST or hasattr(self._listener, _name(callback))
        method: Callable[[Partitions], Any] = getattr(self._listener, _name(callback if exists else Callback.REVOKED))
        return method


class AsyncRebalanceListener(RebalanceListener):
    """A `RebalanceListener` for ``async def`` methods; it measures the time until a coroutine has returned."""

    async def on_partitions_revoked(self, revoked: Partitions) -> Any:  # noqa: ANN401
        """Await and report the user's revoked callback."""
        return await self._wait(Callback.REVOKED, revoked)

    async def on_partitions_assigned(self, assigned: Partitions) -> Any:  # noqa: ANN401
        """Await and report the user's assigned callback."""
        return await self._wait(Callback.ASSIGNED, assigned)

    async def on_partitions_lost(self, lost: Partitions) -> Any:  # noqa: ANN401
        """Await and report the user's lost callback."""
        return await self._wait(Callback.LOST, lost)

    async def _wait(self, callback: Callback, partitions: Partitions) -> Any:  # noqa: ANN401
        with self._timed(callback, partitions):
            result = self._method(callback)(partitions)
            return await result if inspect.isawaitable(result) else result


def is_async(listener: object) -> bool:
    """Whether any of the listener's methods is a coroutine function."""
    callbacks = (Callback.REVOKED, Callback.ASSIGNED, Callback.LOST)
    return any(inspect.iscoroutinefunction(getattr(listener, _name(callback), None)) for callback in callbacks)


def _name(callback: Callback) -> str:
    return f"on_partitions_{callback.value}"


def _nothing(_partitions: Partitions) -> None:
    return None
