"""Plays a whole run with ``--seats``: groups behind two gateways, faults by schedule, and the verdict."""

from __future__ import annotations

import contextlib
import random
from contextlib import ExitStack
from itertools import chain

from chaos.faults.all_faults import inject_all
from chaos.faults.schedule import BROKERS, GATEWAYS, happened
from chaos.members.kinds import PARTITIONS, SEATS_KINDS, group_name
from chaos.members.transactions_member import COPIES
from chaos.processes.agents import Agent
from chaos.processes.gateways import gateways
from chaos.processes.run_context import RunContext
from chaos.processes.seats_groups import SeatsGroups
from chaos.processes.source import Source
from chaos.verdict import account, commits, oracle, seats
from chaos.verdict.record_times import at_their_records
from rebalance_agent.clock import SystemClock
from support.kafka.hidden_offsets import file_login, give_all_but_offsets
from support.observer.observing import create_topic, eventually, everything

READY_S = 240
SOON = ("--describe-interval-seconds=0.5", "--list-all-interval-seconds=1")
"""Flags with which an observer notices soon that a group is gone, or that no gateway reported a generation."""


def play_seats(kafka, topics, options, folder, faults):
    """Return the problems, a line each. ``topics``: of the records, and of events."""
    kinds = tuple(each for each in SEATS_KINDS if not options.kinds or each.name in options.kinds)
    topic, events = topics
    since_ms = SystemClock().now_ms()
    create_topic(kafka.bootstrap_servers, COPIES, PARTITIONS, BROKERS)
    with ExitStack() as stack:
        context, addresses = _start(stack, kafka, options, folder, events)
        source = stack.enter_context(Source(kafka.bootstrap_servers, topic))
        groups = stack.enter_context(SeatsGroups(kafka, addresses, topic, options.seed, kinds))
        done = inject_all(context, faults, options.minutes, groups.account)
        source.stop()
        with contextlib.suppress(AssertionError):  # the verdict lists the groups that have not read everything by then
            eventually(lambda: not _lost(context, groups, source), between=lambda: context.wait(oracle.LOOKS_S))
        lost = _reads(context, groups, source)
        groups.end_members()
        wrong = [*groups.errors, *source.errors]
        last = _verdicts(context, groups, source, events, since_ms, options, folder)
        for verdict in chain([happened(done, options), *lost], last):
            print(verdict.what, flush=True)
            wrong += verdict.wrong
        return wrong


def _start(stack, kafka, options, folder, events):
    """Start the observer and the gateways; return the context and the gateways' addresses."""
    bootstrap = kafka.bootstrap_servers
    flags = [f"--events-topic={events}", "--settle-seconds=1", "--groups-allow=chaos-.*"]
    login = _hidden_login(kafka, folder) if options.hidden else [f"--bootstrap-servers={bootstrap}"]
    observer = Agent(folder, "observe", [*login, *flags])
    more = ["--gateway-generations=true"] if options.hidden else []
    started, addresses = gateways(GATEWAYS, folder, bootstrap, events, options.seats, more)
    for agent in (observer, *started):
        stack.callback(agent.end)
        agent.start()
    eventually(lambda: all(each.life.ready() for each in (observer, *started)), READY_S)
    chance = random.Random(f"{options.seed} faults")
    return RunContext(kafka, None, observer, None, "", None, chance, started), addresses


def _hidden_login(kafka, folder):
    """The flags of an observer that may not read the offsets topic."""
    give_all_but_offsets(kafka)
    servers, properties = file_login(kafka, "PLAIN", folder)
    return [f"--bootstrap-servers={servers}", *(f"--kafka={name}={value}" for name, value in properties.items()), *SOON]


def _transactional(kind):
    return kind.client == "transactions"


def _plain(groups):
    return [kind for kind in groups.kinds if not _transactional(kind)]


def _reads(context, groups, source):
    """Return the verdicts on lost records."""
    found = oracle.read_at_least_once(groups, source.written, _plain(groups))
    if any(map(_transactional, groups.kinds)):
        found.append(seats.exactly_once(source.written, seats.copied(context.kafka.bootstrap_servers)))
    return found


def _lost(context, groups, source):
    return any(each.wrong for each in _reads(context, groups, source))


def _verdicts(context, groups, source, events, since_ms, options, folder):
    """Return the verdicts after all members left, in order."""
    bootstrap, plain = context.kafka.bootstrap_servers, _plain(groups)
    names = {group_name(kind) for kind in groups.kinds}
    transactional = any(map(_transactional, groups.kinds))
    report = oracle.settled(context, events, since_ms, names, complete=not transactional)
    print(report.summary())
    yield from (oracle.Verdict(str(each), (str(each),)) for each in report.differences)
    # No frame shows a generation of a group whose coordinator assigns.
    shown = {group_name(kind) for kind in groups.kinds if not options.hidden or "group.protocol" not in kind.settings}
    yield oracle.judged(report, context.observer.lives, shown, hidden=options.hidden)
    yield oracle.back(context.agents)
    for agent in context.agents:
        agent.end()
    yield oracle.ended(context.agents)
    yield commits.judged(groups, plain, source.written, commits.commits(bootstrap, source.topic))
    yield seats.duplicates(groups, plain, options.duplicates_max)
    published = [each.value() for each in everything(bootstrap, events)]
    yield seats.ledger(groups, published, seats=options.seats == "on", hidden=options.hidden)
    yield seats.crashed(groups, published)
    if options.hidden:
        published = at_their_records(published, bootstrap)
    account.write(groups.account, context.kafka, groups.kinds, source.topic, published, folder / "account")
    yield account.judged(folder / "account")
