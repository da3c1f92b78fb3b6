"""``make chaos``: groups of three types on three brokers, an observer, a sidecar, and everything goes wrong.

Exit code 0 if the ledger is clean in the end, every record was read, and enough rebalances happened.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import random
import shutil
import sys
import tempfile
import threading
import traceback
import warnings
from contextlib import ExitStack
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent / "agent"), str(TESTS)]
warnings.simplefilter("ignore", DeprecationWarning)

from confluent_kafka import KafkaException  # noqa: E402

from chaos import oracle  # noqa: E402 - found by the path above
from chaos.agents import Agent  # noqa: E402
from chaos.crowd import KINDS, PARTITIONS, Crowd, Source  # noqa: E402
from chaos.faults import Stage, inflict  # noqa: E402
from chaos.timetable import BROKERS, FAULTS, timetable  # noqa: E402
from rebalance_agent.clock import SystemClock  # noqa: E402
from rebalance_agent.testing import EmbeddedKafka, Listener  # noqa: E402
from rebalance_agent.testing.settings import free_ports  # noqa: E402
from support.network import Network  # noqa: E402
from support.observing import create_topic, eventually, everything  # noqa: E402

SETTLED_S = 240
REBALANCES_A_MINUTE = 50
TOPIC, EVENTS = "orders", "rebalance-events"
BROKER = {
    "offsets.topic.segment.bytes": str(1 << 30),  # one segment, which is never compacted
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.share.session.timeout.ms": "6000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.heartbeat.interval.ms": "1500",
    "group.share.min.heartbeat.interval.ms": "100",
}


def main(arguments=None):
    """Run; the exit code."""
    options = _options(arguments)
    faults = timetable(options.seed, options.minutes, options.only or ())
    print(f"seed {options.seed}, {options.minutes:g} minutes:", *faults, sep="\n  ", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        wrong = _play(options, faults, folder)
    except Exception:  # noqa: BLE001 - told as what is wrong, with how to repeat it
        wrong = [traceback.format_exc()]
    if not wrong:
        print("chaos: nothing is wrong")
        shutil.rmtree(folder)
        return 0
    print("\nchaos: something is wrong", *wrong, sep="\n  ")
    only = "".join(f" --only '{each}'" for each in options.only or ())
    kinds = "".join(f" --kinds {each}" for each in options.kinds or ())
    print(f"\nlogs, records and events are in {folder}. Again:")
    print(f'make chaos ARGS="--minutes {options.minutes:g} --seed {options.seed}{only}{kinds}"')
    return 1


def _options(arguments):
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time; it is printed")
    parser.add_argument("--only", action="append", choices=list(FAULTS), help="only such faults; repeatable")
    parser.add_argument("--kinds", action="append", choices=[each.name for each in KINDS], help="only these groups")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    return options


def _play(options, faults, folder):
    kinds = tuple(each for each in KINDS if not options.kinds or each.name in options.kinds)
    clock, chance = SystemClock(), random.Random(f"{options.seed} faults")
    fronted = {"AGENT": Listener("PLAINTEXT", fronted=True)}
    with (
        EmbeddedKafka(BROKERS, properties=BROKER, listeners=fronted, startup_timeout=180) as kafka,
        ExitStack() as stack,
    ):
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, TOPIC, PARTITIONS, BROKERS)
        stack.callback(_keep, bootstrap, folder)
        fronts, behind = (kafka.address("AGENT", behind=each).split(",") for each in (False, True))
        ways = [tuple(int(each.rpartition(":")[2]) for each in way) for way in zip(fronts, behind, strict=True)]
        network = stack.enter_context(Network(ways, options.seed))
        (port,) = free_ports(1)
        shared = [f"--bootstrap-servers={','.join(fronts)}", f"--events-topic={EVENTS}"]
        observer = Agent(folder, "observe", [*shared, "--settle-seconds=1", "--groups-allow=chaos-.*"])
        sidecar = Agent(folder, "sidecar", [*shared, f"--events-listen=127.0.0.1:{port}"])
        for agent in (observer, sidecar):
            stack.callback(agent.end)
            agent.start()
        eventually(lambda: observer.life.ready() and sidecar.life.ready(), SETTLED_S)
        since_ms = clock.now_ms()
        source = stack.enter_context(Source(bootstrap, TOPIC))
        crowd = stack.enter_context(Crowd(kafka, TOPIC, f"http://127.0.0.1:{port}", options.seed, kinds))
        _go_wrong(Stage(kafka, network, observer, sidecar, f"http://127.0.0.1:{port}", chance), faults, options.minutes)
        source.stop()
        with contextlib.suppress(AssertionError):  # who has not read it by then is named in the end
            eventually(lambda: not any(each.wrong for each in oracle.read_at_least_once(crowd, source.written)))
        crowd.calm()
        return _judge(kafka, observer, crowd, source, since_ms, options)


def _go_wrong(stage, faults, minutes):
    began = stage.clock.monotonic()
    for fault in faults:
        stage.wait(max(0.0, fault.at_s - (stage.clock.monotonic() - began)))
        if stage.clock.monotonic() - began > minutes * 60:
            print("  (no time for the rest)", flush=True)
            break
        print(f"  {stage.clock.monotonic() - began:6.1f} s  {fault.name}", flush=True)
        inflict(stage, fault)
        if died := stage.observer.life.died or stage.sidecar.life.died:
            raise AssertionError(died)
    stage.wait(max(0.0, minutes * 60 - (stage.clock.monotonic() - began)))


def _judge(kafka, observer, crowd, source, since_ms, options):
    bootstrap, groups = kafka.bootstrap_servers, {crowd.group(kind) for kind in crowd.kinds}
    latest = []

    def balanced():
        latest[:] = [oracle.balance(bootstrap, EVENTS, since_ms, groups)]
        return latest[0].clean and not latest[0].pending

    with contextlib.suppress(AssertionError):  # told by its differences
        eventually(balanced, SETTLED_S, between=lambda: threading.Event().wait(2))
    observer.life.scrape()
    (report,) = latest
    oracle.counted(observer.lives, report)
    wrong = [*map(str, report.differences), *crowd.errors, *filter(None, (each.died for each in observer.lives))]
    verdicts = [*oracle.read_at_least_once(crowd, source.written), oracle.polls(crowd)]
    print(report.summary(), f"{len(observer.lives)} lives of the observer", sep="\n")
    for verdict in verdicts:
        print(verdict.what)
        wrong += verdict.wrong
    left, may_be = sum(report.unjudged.values()), len(observer.lives) * len(groups)
    if left > may_be:
        wrong.append(f"{left} facts were not judged: once for each start of an observer and group, {may_be}, at most")
    wanted = REBALANCES_A_MINUTE * options.minutes
    if report.agreed < wanted and not (options.only or options.kinds):
        wrong.append(f"only {report.agreed} rebalances, {wanted:.0f} were wanted: the machine is too busy")
    return wrong


def _keep(bootstrap, folder):
    """Both topics as files, for ``rebalance-agent verify``; as far as the brokers are there."""
    with contextlib.suppress(AssertionError, KafkaException):
        _write(bootstrap, folder)


def _write(bootstrap, folder):
    with (folder / "records.ndjson").open("w") as file:
        for each in everything(bootstrap, "__consumer_offsets"):
            row = {"partition": each.partition(), "offset": each.offset(), "timestamp": each.timestamp()[1]}
            for name, part in (("key", each.key()), ("value", each.value())):
                row[name] = None if part is None else base64.b64encode(part).decode()
            file.write(json.dumps(row) + "\n")
    with (folder / "events.ndjson").open("wb") as file:
        for each in everything(bootstrap, EVENTS):
            file.write(each.value() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
