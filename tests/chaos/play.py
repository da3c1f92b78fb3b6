"""Plays a whole run: cluster, groups, faults by schedule, and the verdict."""

from __future__ import annotations

import contextlib
import random
from contextlib import ExitStack

from confluent_kafka import KafkaException

from chaos.faults.all_faults import inject_all
from chaos.faults.schedule import BROKERS, happened
from chaos.members.kinds import KINDS, PARTITIONS, TRIED, group_name
from chaos.play_seats import play_seats
from chaos.processes.agents import Agent
from chaos.processes.groups import Groups
from chaos.processes.otlp_receiver import OtlpReceiver
from chaos.processes.run_context import RunContext
from chaos.processes.source import Source
from chaos.processes.stream import Stream
from chaos.verdict import account, arrived_traces, counters, latency, oracle
from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka, Listener
from rebalance_agent.testing.kafka.broker_settings import free_ports
from support.kafka.hidden_offsets import users
from support.kafka.network import Network
from support.observer.observing import create_topic, eventually, everything

READY_S = 240
REBALANCES_A_MINUTE = 50
TOPIC, EVENTS = "orders", "rebalance-events"
EVENTS_PARTITIONS = 3
SESSIONS = {
    "session.timeout.ms": "6000",
    "min.session.timeout.ms": "1000",
    "heartbeat.interval.ms": "1500",
    "min.heartbeat.interval.ms": "100",
}
BROKER = {
    "offsets.topic.segment.bytes": str(1 << 30),  # one segment, which is never compacted
    "group.min.session.timeout.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
    **{f"group.{kind}.{name}": value for kind in ("consumer", "share", "streams") for name, value in SESSIONS.items()},
}

SEATS_BROKER = {"group.consumer.session.timeout.ms": "15000"}
"""Longer than a gateway waits for the return of a process that was killed."""


def play(options, faults, folder):
    """Return the problems, a line each; None after Ctrl-C."""
    listeners = users("PLAIN") if options.hidden else {"AGENT": Listener("PLAINTEXT", fronted=True)}
    properties = {**BROKER, **SEATS_BROKER} if options.seats else BROKER
    with EmbeddedKafka(
        BROKERS, properties=properties, listeners=listeners, authorizer=options.hidden, startup_timeout=180
    ) as kafka:
        try:
            wrong = _play(kafka, options, faults, folder)
        except KeyboardInterrupt:
            return None
        except Exception:
            _keep(kafka.bootstrap_servers, folder)
            raise
        if wrong:
            _keep(kafka.bootstrap_servers, folder)
            kafka.keep_logs = True
            print(f"the brokers' logs are kept in {kafka.directory}")
        return wrong


def _play(kafka, options, faults, folder):
    create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS, BROKERS)
    create_topic(kafka.bootstrap_servers, EVENTS, EVENTS_PARTITIONS, BROKERS)
    if options.seats:
        return play_seats(kafka, (TOPIC, EVENTS), options, folder, faults)
    kinds = tuple(each for each in KINDS if not options.kinds or each.name in options.kinds)
    bootstrap, since_ms = kafka.bootstrap_servers, SystemClock().now_ms()
    with ExitStack() as stack:
        receiver = stack.enter_context(OtlpReceiver(folder, options.seed))
        context = _start(stack, kafka, options, folder, receiver)
        source = stack.enter_context(Source(bootstrap, TOPIC))
        all_groups = stack.enter_context(Groups(kafka, TOPIC, f"http://{context.events}", options.seed, kinds))
        done = inject_all(context, faults, options.minutes, all_groups.account)
        source.stop()
        receiver.settle()
        with contextlib.suppress(AssertionError):  # the verdict lists the groups that have not read everything by then
            eventually(
                lambda: not any(each.wrong for each in oracle.read_at_least_once(all_groups, source.written)),
                between=lambda: context.wait(oracle.LOOKS_S),
            )
        all_groups.end_members()
        return _judge(context, all_groups, source, receiver, since_ms, options, done, folder)


def _start(stack, kafka, options, folder, receiver):
    """Start the agents behind a network of their own, and the stream."""
    fronts, behind = (kafka.address("AGENT", behind=each).split(",") for each in (False, True))
    ways = [tuple(int(each.rpartition(":")[2]) for each in way) for way in zip(fronts, behind, strict=True)]
    network = stack.enter_context(Network(ways, options.seed))
    (port,) = free_ports(1)
    events = f"127.0.0.1:{port}"
    shared = [f"--bootstrap-servers={','.join(fronts)}", f"--events-topic={EVENTS}"]
    flags = [*shared, "--settle-seconds=1", "--groups-allow=chaos-.*|hostile-.*"]
    observer = Agent(folder, "observe", flags, variables=receiver.variables)
    sidecar = Agent(folder, "sidecar", [*shared, f"--events-listen={events}"], variables=receiver.variables)
    for agent in (observer, sidecar):
        stack.callback(agent.end)
        agent.start()
    stream = Stream(kafka.bootstrap_servers, EVENTS, folder) if options.spark else None
    if stream:
        stack.callback(stream.end)
        stream.start()
    eventually(lambda: observer.life.ready() and sidecar.life.ready(), READY_S)
    return RunContext(kafka, network, observer, sidecar, events, stream, random.Random(f"{options.seed} faults"))


def _judge(context, all_groups, source, receiver, since_ms, options, done, folder):
    observer, groups = context.observer, {group_name(kind) for kind in all_groups.kinds}
    report = oracle.settled(context, EVENTS, since_ms, groups)
    observer.life.scrape()
    compared = counters.compared(observer.lives, report)
    wrong = [*map(str, report.differences), *all_groups.errors, *source.errors]
    print(report.summary())
    ours = compared, oracle.judged(report, observer.lives, groups), happened(done, options)
    for verdict in (*ours, *_verdicts(context, all_groups, source, receiver, options, folder)):
        print(verdict.what, flush=True)
        wrong += verdict.wrong
    return wrong


def _verdicts(context, all_groups, source, receiver, options, folder):
    """Return the verdicts on all but the audit and the faults, in order."""
    yield from oracle.read_at_least_once(all_groups, source.written)
    if set(TRIED) <= all_groups.members.keys():
        yield latency.compared(all_groups.late())
    agents = context.observer, context.sidecar
    yield oracle.back(agents)
    arrived_traces.await_traces(receiver, context.observer.life)
    for agent in agents:
        agent.end()  # from here on nothing more is published
    yield oracle.ended(agents)
    published = [each.value() for each in everything(context.kafka.bootstrap_servers, EVENTS)]
    yield arrived_traces.judged(receiver, context.observer.lives, published)
    yield oracle.reported(all_groups, published)
    account.write(all_groups.account, context.kafka, all_groups.kinds, TOPIC, published, folder / "account")
    yield account.judged(folder / "account")
    wanted = 0 if options.only or options.kinds else REBALANCES_A_MINUTE * options.minutes
    yield oracle.rebalances(published, {group_name(kind) for kind in all_groups.kinds}, wanted)
    if context.stream:
        yield context.stream.judge(published)


def _keep(bootstrap, folder):
    """Write both topics to files for ``rebalance-agent verify``, as far as the brokers answer."""
    with contextlib.suppress(AssertionError, KafkaException, KeyError):
        _write(bootstrap, folder)


def _write(bootstrap, folder):
    account.write_records(bootstrap, folder / "records.ndjson")
    with (folder / "events.ndjson").open("wb") as file:
        for each in everything(bootstrap, EVENTS):
            file.write(each.value() + b"\n")
