"""What `verify` puts together: what was told, the records that it is held against, and counters."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rebalance_agent.audit.audit_report import NO_EVENTS, AuditReport
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.ledger import AuditWindow, Ledger
from rebalance_agent.audit.lifetime_counters import LifetimeCounters, check_lifetime
from rebalance_agent.audit.published_event import GroupFact
from rebalance_agent.cli.inputs.cluster_flags import cluster_settings, names_cluster
from rebalance_agent.cli.inputs.verify_files import events_in, records_in, scrape_in
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load
from rebalance_agent.runtime.watch.audit_source import VerifiedCluster

__all__ = ["verified"]


@dataclass(frozen=True, slots=True)
class _Account:
    """A ledger that was told everything, from when on (epoch ms) that is complete, and until when."""

    ledger: Ledger
    since_ms: int
    until_ms: int | None


def verified(options: argparse.Namespace) -> dict[str, AuditReport]:
    """What was told, by what told it: ``events``, and of tables ``generations``, too; counters are in the first one.

    Raises:
        RebalanceAgentError: flags do not go together, something cannot be read, or nobody answers.
    """
    _refuse(options)
    accounts = _of_files(options) if options.records else _of_cluster(options)
    reports = {name: account.ledger.close() for name, account in accounts.items()}
    if not options.allow_empty and all(each.empty for each in reports.values()):
        raise _nothing(options, reports["events"])
    for metrics, events in options.lifetime:
        _check_counters(metrics, events, options, reports["events"])
    return reports


def _refuse(options: argparse.Namespace) -> None:
    if options.records and names_cluster(options):
        raise InvalidInputError("--records", "is instead of a cluster: leave out --bootstrap-servers")
    if options.tables and (options.events or options.events_topic):
        raise InvalidInputError("--tables", "is instead of --events and --events-topic: give one of them")
    if options.spark and not options.tables:
        raise InvalidInputError("--spark", "is for --tables, which is missing")
    if options.records and not (options.events or options.tables):
        raise InvalidInputError("--events", "is missing: records in a file need events in a file, or --tables")


def _nothing(options: argparse.Namespace, report: AuditReport) -> RebalanceAgentError:
    """Why it is no success that nothing differs."""
    if options.groups:
        return InvalidInputError("--groups", f"neither records nor events are of a group like {options.groups!r}")
    left = "".join(f"; there are {number} {why}" for why, number in report.unjudged.items())
    where = "the files" if options.records else "the cluster, the events' topic and the rights"
    return RebalanceAgentError(
        f"nothing was proven: neither records nor events are of any group that is shown{left}. "
        f"Are {where} the right ones? If nobody has used groups yet, say --allow-empty"
    )


def _of_cluster(options: argparse.Namespace) -> dict[str, _Account]:
    settings, properties = cluster_settings(options)
    shows, clock = _shows(options, settings), SystemClock()
    cluster = VerifiedCluster(properties, clock)
    until_ms = clock.now_ms()
    if options.tables:
        accounts = _of_tables(options, cluster.cluster_id, shows)
    else:
        ledger, whole_ms = Ledger(cluster.cluster_id, shows), 0
        if options.events:
            for event, place in _events(options):
                ledger.add_event(event, place)
        else:
            whole_ms = cluster.events(options.events_topic or settings.events_topic, ledger.add_event)
            ledger.report.leave(NO_EVENTS, cluster.unread)
        accounts = {"events": _Account(ledger, max(whole_ms, ledger.published.first_ms or 0), until_ms)}
    _expect(accounts, options, cluster.names())
    cluster.post(*(each.ledger for each in accounts.values()))
    return accounts


def _of_files(options: argparse.Namespace) -> dict[str, _Account]:
    shows = _shows(options, load(ObserverSettings, None, {}))
    accounts = _of_tables(options, None, shows) if options.tables else _of_event_files(options, shows)
    _expect(accounts, options, {})
    for record in records_in(options.records):
        for account in accounts.values():
            account.ledger.add_record(record)
    return accounts


def _of_event_files(options: argparse.Namespace, shows: NameFilter) -> dict[str, _Account]:
    told = _events(options)
    first = next(told, None)
    cluster_id = first[0].cluster_id if first else ""
    ledger = Ledger(cluster_id, shows)
    for event, place in itertools.chain([first] if first else [], told):
        if event.cluster_id != cluster_id:
            raise InvalidInputError("--events", f"are of more than one cluster: {cluster_id}, {event.cluster_id}")
        ledger.add_event(event, place)
    return {"events": _Account(ledger, ledger.published.first_ms or 0, None)}


def _of_tables(options: argparse.Namespace, cluster_id: str | None, shows: NameFilter) -> dict[str, _Account]:
    try:
        from rebalance_agent.cli.inputs.verify_tables import told_by_tables  # noqa: PLC0415 - Spark, for those who have tables
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "rebalance_agent":
            raise
        what = f"needs the package {package!r}: pip install 'kafka-rebalance-agent[pipeline]'"
        raise InvalidInputError("--tables", what) from None
    told = told_by_tables(options, cluster_id, shows)
    first_ms, last_ms = told.events.published.first_ms or 0, told.events.published.last_ms or 0
    return {
        "events": _Account(told.events, first_ms, last_ms),
        "generations": _Account(
            told.generations, first_ms, told.generations.published.last_ms if told.reach_ms is None else told.reach_ms
        ),
    }


def _expect(accounts: dict[str, _Account], options: argparse.Namespace, names: dict[str, str]) -> None:
    grace_ms = round(options.grace_seconds * 1000)
    for each in accounts.values():
        since_ms = each.since_ms if options.since is None else options.since
        each.ledger.expect(AuditWindow(since_ms, each.until_ms, grace_ms, options.complete, names))


def _shows(options: argparse.Namespace, settings: ObserverSettings) -> NameFilter:
    if options.groups:
        try:
            return NameFilter(options.groups)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidInputError("--groups", f"is no regular expression: {error}") from None
    return NameFilter(settings.groups_allow, settings.groups_deny)


def _events(options: argparse.Namespace) -> Iterator[tuple[GroupFact, RecordPosition]]:
    """What the files tell of groups; members' own events may be without a cluster."""
    for name in options.events:
        for event, place in events_in("--events", name):
            if isinstance(event, GroupFact):
                yield event, place


def _check_counters(metrics: str, events: str, options: argparse.Namespace, report: AuditReport) -> None:
    scrape, shows = scrape_in(metrics), NameFilter(options.groups or ".*")
    told = [_slim(event) for event, _ in events_in("--lifetime", events) if shows(event.group)]
    settled_ms = round(options.grace_seconds * 1000)
    counters, at_ms = {group: each for group, each in scrape.counters.items() if shows(group)}, scrape.at_ms
    check_lifetime(LifetimeCounters(metrics, counters, told, at_ms, settled_ms, scrape.amid, scrape.replayed), report)


def _slim(event: Event) -> Event:
    """Without all members but one, for only that there are any counts: a whole file of events is held at once."""
    return replace(event, members=event.members[:1]) if isinstance(event, GenerationEvent) else event
