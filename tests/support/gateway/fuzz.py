"""Hostile clients and a hostile broker around a running gateway, by seed; and a group that must not fail.

`fuzz` is the target: tests run it for a while, ``python -m support.gateway.fuzz SEED CONNECTIONS`` without a time
limit. The actions of a connection depend only on the seed and its number; the order between connections is random.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import struct
import sys
from collections import Counter
from dataclasses import dataclass, field

from fuzz.mutations import mutated
from rebalance_agent.clock import SystemClock
from rebalance_agent.gateway.groups import GroupInterceptors, parse_rules
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from support.gateway.coordinator import ToyCoordinator
from support.gateway.frames import VERSIONS, apis, filled, framed, group_frames
from support.gateway.groups import REQUESTS, Client, RealBroker
from support.gateway.transport import (
    PATIENCE_S,
    eventually,
    frame_of,
    open_connections,
    refused,
    request,
    reset,
    through,
)

__all__ = ["Report", "fuzz"]

NEIGHBOUR = "neighbour"
AT_ONCE = 20
PLAY_S = 0.5
"""Longest time (seconds) of one hostile client; then it closes its connection, or keeps it open."""

LENGTH = struct.Struct(">i")
LENGTHS = (-(2**31), -1, 0, 1, 7, 8, 9, 2**16, 2**24, 2**24 + 1, 2**27, 2**28, 2**28 + 1, 2**31 - 1)
WORDS = (b"orders", b"consumer", b"range", b"localhost")
"""Names in our own frames."""

RULES = ".*=weighted-sticky,assignment.consumer.weight=3"


@dataclass
class Report:
    """The result of a run. ``faults`` must be empty; ``rebalances``: those of the group that must not be affected."""

    seed: int
    refused: dict[str, float] = field(default_factory=dict)
    outcomes: Counter = field(default_factory=Counter)
    rebalances: int = 0
    faults: list[str] = field(default_factory=list)


async def fuzz(seed, connections):
    """Run a gateway between ``connections`` hostile clients and a broker that is hostile to them."""
    report, events = Report(seed), []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: report.faults.append(str(context)))
    groups = GroupInterceptors(
        parse_rules(RULES), events.append, SystemClock(), count=lambda each: report.outcomes.update([each])
    )
    broker = await HostileBroker(seed).start()
    with logged_errors(report.faults):
        async with through(broker.port, groups=groups.for_connection) as gateway:
            port, done = gateway.port, asyncio.Event()
            neighbour = asyncio.create_task(live(port, done, report))
            left, room = [], asyncio.Semaphore(AT_ONCE)

            async def one(number):
                async with room:
                    assert not neighbour.done() or neighbour.result()
                    events.clear()
                    left.extend(await hostile(random.Random(f"{seed}/{number}"), port))

            await asyncio.gather(*(one(number) for number in range(connections)))
            for writer in left:
                writer.close()
            broker.release()
            done.set()
            await neighbour
            await eventually(lambda: open_connections(gateway) == 0)
            report.refused = refused(gateway)
        groups.close()
    await broker.stop()
    if report.refused.get(CloseReason.FAILED) or report.outcomes[FrameOutcome.FAILED]:
        report.faults.append("the gateway failed")
    return report


@contextlib.contextmanager
def logged_errors(faults):
    """Add the gateway's logged errors with a traceback to ``faults``."""

    class Listening(logging.Handler):
        def emit(self, record):
            faults.append(self.format(record))

    logger, handler = logging.getLogger("rebalance_agent.gateway"), Listening(logging.ERROR)
    handler.addFilter(lambda record: record.exc_info is not None)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


async def live(port, done, report):
    """Run a member of a group, and a client with large requests, while the others are hostile."""
    line = await RealBroker.at(f"127.0.0.1:{port}", client_id=NEIGHBOUR)
    member = Client(line, group="neighbours")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        last = done.is_set()
        async with asyncio.timeout(PATIENCE_S):
            await member.join()
            assert (await member.sync()).error_code == 0
            assert (await member.heartbeat()).error_code == 0
            assert member.owned == {"t": tuple(range(16))}
            asked = request(2, 5, report.rebalances, bytes(200_000), NEIGHBOUR)
            writer.write(frame_of(asked))
            assert await reader.readexactly(len(asked)) == frame_of(asked[4:8] + asked[8:])
        report.rebalances += 1
        if last:
            break
        await asyncio.sleep(0.01)
    await line.close()
    writer.close()


def spoilt(chance, data):
    """Structural damage, with parts of another valid frame; see `fuzz.mutations`."""
    return mutated(chance, data, [good(chance)], WORDS, text=False)


def good(chance):
    """A request with a valid header; in rare cases its API, version or body is not valid."""
    if chance.random() < 0.5:
        key = chance.choice(list(VERSIONS))
        return group_frames(key, chance.choice(VERSIONS[key])).request
    if chance.random() < 0.1:
        return request(chance.choice([2, 9, 12, 68, 88, 999]), chance.randrange(20), 1, chance.randbytes(300_000))
    kind = apis()[chance.choice(list(apis()))].request
    return framed(filled(chance, kind, chance.randrange(kind.max_version + 1)), chance.randrange(5))


def pieces(chance, data):
    while data:
        size = chance.choice([1, 2, 3, 7, 100, 5_000, len(data)])
        yield data[:size]
        data = data[size:]


def frames(chance):
    return b"".join(frame_of(good(chance)) for _ in range(chance.randint(1, 5)))


def noise(chance):
    return chance.randbytes(chance.randint(1, 3_000))


def damaged(chance):
    return frame_of(spoilt(chance, good(chance))) + frames(chance)


def misframed(chance):
    return frames(chance) + spoilt(chance, frames(chance))


def cut(chance):
    data = frames(chance)
    return data[: chance.randrange(len(data))]


def mismeasured(chance):
    return frames(chance) + LENGTH.pack(chance.choice(LENGTHS)) + good(chance)


def interleaved(chance):
    one, other = (list(pieces(chance, frames(chance))) for _ in range(2))
    return b"".join(each for pair in zip(one, other, strict=False) for each in pair)


MUTATIONS = (frames, noise, damaged, misframed, cut, mismeasured, interleaved)


async def hostile(chance, port):
    """One hostile client: it sends its data at once or in pieces; return its connection if it stays open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    deaf, stays = chance.random() < 0.2, chance.random() < 0.1
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(PLAY_S):
            for piece in pieces(chance, chance.choice(MUTATIONS)(chance)):
                writer.write(piece)
                await writer.drain()
                if chance.random() < 0.1:
                    await asyncio.sleep(0.001)
            if stays:
                return [writer]
            if chance.random() < 0.7:
                writer.write_eof()
            while not deaf and await reader.read(65_536):
                pass
    if chance.random() < 0.3:
        with contextlib.suppress(OSError):
            reset(writer)
    writer.close()
    return []


class HostileBroker:
    """Responds to the well-behaved client like a coordinator, and to other connections depending on the seed."""

    def __init__(self, seed):
        self._seed, self._connections = seed, 0
        self._toy, self._released, self._writers = ToyCoordinator(), asyncio.Event(), set()

    async def start(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def release(self):
        """Close the remaining connections of hostile clients."""
        self._released.set()
        for writer in self._writers:
            writer.close()

    async def stop(self):
        self._server.close()

    async def _serve(self, reader, writer):
        self._connections += 1
        chance = random.Random(f"{self._seed}/broker/{self._connections}")
        answer = chance.choice(ANSWERS)
        try:
            frame = await _read(reader)
            if frame[10 : 10 + len(NEIGHBOUR)] == NEIGHBOUR.encode():
                answer = self._truly
            else:
                self._writers.add(writer)
            while not (self._released.is_set() and writer in self._writers):
                data = await answer(frame) if answer == self._truly else answer(chance, frame)
                if data is None:
                    break
                writer.write(data)
                await writer.drain()
                frame = await _read(reader)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            if chance.random() < 0.2:
                with contextlib.suppress(OSError, AttributeError):
                    reset(writer)
            writer.close()

    async def _truly(self, frame):
        head = read_head(frame)
        if (kind := REQUESTS.get(head.api_key)) is None:
            return frame_of(frame[4:8] + frame[8:])
        answer = await self._toy(open_frame(kind, head, frame).message)
        answer.with_header(correlation_id=head.correlation_id)
        return frame_of(bytes(answer.encode(header=True)))


async def _read(reader):
    (size,) = LENGTH.unpack(await reader.readexactly(4))
    return await reader.readexactly(size)


def _true(chance, frame):
    head = read_head(frame)
    if head.api_key in VERSIONS and head.api_version in VERSIONS[head.api_key]:
        answer = group_frames(head.api_key, head.api_version).answer
    elif (api := apis().get(head.api_key)) and 0 <= head.api_version <= api.response.max_version:
        answer = framed(filled(chance, api.response, head.api_version))
    else:
        answer = bytes(4) + frame[8:]
    return frame[4:8] + answer[4:]


ANSWERS = (
    lambda chance, frame: frame_of(_true(chance, frame)),
    lambda chance, frame: frame_of(frame[4:8] + spoilt(chance, _true(chance, frame)[4:])),
    lambda chance, frame: spoilt(chance, frame_of(_true(chance, frame))),
    lambda chance, frame: frame_of(_true(chance, frame)) * 2,
    lambda chance, frame: chance.randbytes(200),
    lambda chance, frame: LENGTH.pack(chance.choice(LENGTHS)) + _true(chance, frame),
    lambda chance, frame: frame_of(_true(chance, frame) + bytes(2_000_000)),
    lambda _, frame: b"",
    lambda _, frame: None,
)
"""Ways to answer: correct, damaged, with a wrong length, twice, noise, another length field, too long, none, closed."""


if __name__ == "__main__":
    print(asyncio.run(fuzz(int(sys.argv[1]), int(sys.argv[2]))))
