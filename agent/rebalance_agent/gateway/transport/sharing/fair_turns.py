"""Shares the processor time of one event loop among client addresses, in turns.

An event loop runs tasks in the order in which they became ready. If one client had hundreds of busy connections, each
step of another client would wait for a step of each of these connections.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rebalance_agent.clock import Clock

__all__ = ["LONG_SECONDS", "TURN_SECONDS", "AddressTurns", "FairTurns"]

TURN_SECONDS = 0.001
"""Maximum number of processor seconds that an address's connections use in one pass of the event loop; further steps
wait for the next pass. A new connection of another client needs some ten passes until its first request is answered."""

LONG_SECONDS = 0.01
"""If a step takes at least this many processor seconds and other addresses are connected, its address pauses for as
long as the step took. A step is not interrupted, and some steps (decoding a JoinGroup of 100,000 parts) take more than
a tenth of a second. Without the pause, such a step would run whenever the other clients wait for the broker."""

ADMITTED_MAX = 16
"""Maximum number of waiting steps of an address that are admitted to a pass: about as many as fit into
`TURN_SECONDS`."""

T = TypeVar("T")


class FairTurns:
    """The turns of all addresses. A *pass* is one iteration of the event loop, or several with little work.

    An address gets its turn once in a pass.
    """

    def __init__(self, clock: Clock) -> None:
        """``clock``: read by the thread that runs the event loop."""
        self._clock = clock
        self._measured = clock.thread_time()
        self._of: WeakValueDictionary[str, AddressTurns] = WeakValueDictionary()
        self._active: dict[AddressTurns, None] = {}
        self._ending: asyncio.Handle | None = None

    def of(self, address: str) -> AddressTurns:
        """Return the turns of an address. They exist while a connection uses them, or the address has excess time."""
        turns = self._of.get(address)
        if turns is None:
            turns = self._of[address] = AddressTurns(address, self, self._clock)
        return turns

    def active(self, turns: AddressTurns, *, waits: bool) -> None:
        """Record that an address has run a step in this pass, or ``waits`` for the next pass, which begins soon."""
        self._active[turns] = None
        if waits and self._ending is None:
            self._ending = asyncio.get_running_loop().call_soon(self._end_pass)

    def processor_seconds(self, seconds: float) -> float:
        """Return an upper bound on the processor time of a step that has lasted ``seconds`` and ends now.

        Processor time is read only for long steps, since this takes ten times as long as reading the clock.
        """
        if seconds < TURN_SECONDS:
            return seconds
        before, self._measured = self._measured, self._clock.thread_time()
        return min(seconds, self._measured - before)

    def shared(self) -> bool:
        """Whether more than one address has connections."""
        return len(self._of) > 1

    def _end_pass(self) -> None:
        self._ending, self._measured = None, self._clock.thread_time()
        active, self._active = self._active, {}
        for turns in active:
            if turns.next_pass(alone=len(active) == 1):
                self.active(turns, waits=True)


class AddressTurns:
    """The turns of one address; connections from this address are served first come, first served."""

    def __init__(self, address: str, all_turns: FairTurns, clock: Clock) -> None:
        """Start with no time used."""
        self.address, self._all, self._clock = address, all_turns, clock
        self._used = 0.0  # processor seconds in this pass, and the excess of earlier passes
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._again: deque[asyncio.Future[None]] = deque()
        self._rest: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that ``work`` returns, and delay each of its steps until it is the address's turn.

        A step lasts from one wait to the next. Cancellations, and errors of awaited objects, are not delayed.
        """
        return await self._steps(work())

    @types.coroutine
    def _steps(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        error: BaseException | None = None
        try:
            while True:
                if error is None:
                    error = yield from self._turn()
                begun = self._clock.monotonic()
                try:
                    waits = coroutine.send(None) if error is None else coroutine.throw(error)
                except StopIteration as end:
                    result: T = end.value
                    return result
                finally:
                    self._spend(self._clock.monotonic() - begun)
                error = None
                try:
                    yield waits
                except GeneratorExit:
                    raise
                except BaseException as raised:  # noqa: BLE001 - it is the coroutine's
                    error = raised
        finally:
            coroutine.close()

    def next_pass(self, *, alone: bool) -> bool:
        """Begin the address's turn in the next pass; return whether work is left for later passes.

        ``alone``: no other address has run or waited in the last pass, so this address's excess time is dropped.
        """
        self._used = 0.0 if alone else max(0.0, self._used - TURN_SECONDS)
        self._waiting.extendleft(reversed(self._again))
        self._again.clear()
        if self._rest is None and self._used < TURN_SECONDS:
            for _ in range(min(ADMITTED_MAX, len(self._waiting))):
                _admit(self._waiting.popleft())
        return self._rest is None and bool(self._waiting or self._used >= TURN_SECONDS)

    def _turn(self) -> Generator[Any, Any, BaseException | None]:
        """Wait for a turn; return the exception that interrupted the wait, None if there was none."""
        queue = self._waiting
        while self._rest or self._used >= TURN_SECONDS or (queue is self._waiting and self._waiting):
            admitted = asyncio.get_running_loop().create_future()
            queue.append(admitted)
            self._all.active(self, waits=True)
            try:
                yield from admitted
            except GeneratorExit:
                raise
            except BaseException as raised:  # noqa: BLE001 - it is the coroutine's
                return raised
            queue = self._again  # this step goes before steps that came later
        return None

    def _spend(self, seconds: float) -> None:
        seconds = self._all.processor_seconds(seconds)
        self._used += seconds
        self._all.active(self, waits=self._used >= TURN_SECONDS)
        if seconds >= LONG_SECONDS and self._rest is None and self._all.shared():
            self._rest = asyncio.get_running_loop().call_later(seconds, self._rested)

    def _rested(self) -> None:
        self._rest, self._used = None, 0.0
        self._all.active(self, waits=True)


def _admit(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
