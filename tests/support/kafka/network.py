"""A network between a client and brokers in this process, and its faults."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading

CHUNK = 64 * 1024


class Network:
    """A TCP relay for each pair of (front, behind) ports on loopback. Any thread can change its settings.

    ``open``: new connections are relayed, otherwise they are reset; ``delay_s``: delay of every chunk; ``loss``:
    probability that a chunk is delayed by another ``retransmit_s``, as if TCP sent it again. `freeze` makes all bytes
    wait, as if a route were lost.
    """

    def __init__(self, ways, seed=0, retransmit_s=0.3):
        self.open, self.delay_s, self.loss = True, 0.0, 0.0
        self._chance, self._retransmit_s = random.Random(seed), retransmit_s
        self._ways = ways
        self._writers = set()
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._tasks = set()
        self._servers = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_):
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self):
        """Reset all connections, and each new one."""
        self.open = False
        self._call(self._reset())

    def reset(self):
        """Reset all connections; new ones are accepted."""
        self._call(self._reset())

    def freeze(self):
        """Stop forwarding in both directions, without closing connections."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def heal(self):
        """Return to normal operation."""
        self.open, self.delay_s, self.loss = True, 0.0, 0.0
        self._loop.call_soon_threadsafe(self._flowing.set)

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self):
        for front, behind in self._ways:
            serve = lambda reader, writer, behind=behind: self._relay(reader, writer, behind)  # noqa: E731
            self._servers.append(await asyncio.start_server(serve, "127.0.0.1", front))

    async def _reset(self):
        for writer in list(self._writers):
            writer.transport.abort()

    async def _end(self):
        for server in self._servers:
            server.close()
        self._flowing.set()
        await self._reset()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _relay(self, reader, writer, behind):
        self._tasks.add(asyncio.current_task())
        there = None
        self._writers.add(writer)
        try:
            if self.open:
                back, there = await asyncio.open_connection("127.0.0.1", behind)
                self._writers.add(there)
                await asyncio.gather(self._pass(reader, there), self._pass(back, writer))
        except OSError:
            pass  # one side has ended, so end the other one
        finally:
            for each in filter(None, (writer, there)):
                self._writers.discard(each)
                each.transport.abort()
            self._tasks.discard(asyncio.current_task())

    async def _pass(self, reader, writer):
        while chunk := await reader.read(CHUNK):
            await self._flowing.wait()
            held_s = self.delay_s + (self._retransmit_s if self._chance.random() < self.loss else 0)
            if held_s:
                await asyncio.sleep(held_s)
            writer.write(chunk)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.write_eof()
