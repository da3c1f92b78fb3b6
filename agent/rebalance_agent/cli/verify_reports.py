"""Runs the audit of `verify`: compares published events or tables, and counters, with the offsets topic's records."""

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
from rebalance_agent.audit.published_event import AuditedEvent
from rebalance_agent.cli.inputs.cluster_flags import names_cluster
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.verify_files import events_in, records_in, scrape_in
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.name_filters import GroupFilter
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.extras import install_text
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load
from rebalance_agent.runtime.watch.audit_source import VerifiedCluster

__all__ = ["verified"]


@dataclass(frozen=True, slots=True)
class _Account:
    """A ledger of all published events; the events are complete from ``since_ms`` to ``until_ms`` (epoch ms)."""

    ledger: Ledger
    since_ms: int
    until_ms: int | None


def verified(options: argparse.Namespace) -> dict[str, AuditReport]:
    """Return a report on ``events`` (with differences of counters), and with --tables also on ``generations``.

    Raises:
        RebalanceAgentError: flags contradict each other, a file cannot be read, or the cluster does not answer.
    """
    _refuse(options)
    accounts = _of_files(options) if options.records else _of_cluster(options)
    reports = {name: account.ledger.close() for name, account in accounts.items()}
    if not options.allow_empty and all(report.empty for report in reports.values()):
        raise _nothing(options, reports["events"])
    for metrics, events in options.lifetime:
        _check_counters(metrics, events, options, reports["events"])
    return reports


def _refuse(options: argparse.Namespace) -> None:
    if options.records and names_cluster(options):
        raise InvalidInputError("--records", "replaces a cluster: remove --bootstrap-servers")
    if options.tables and (options.events or options.events_topic):
        raise InvalidInputError("--tables", "replaces --events and --events-topic: remove them")
    if options.spark and not options.tables:
        raise InvalidInputError("--spark", "needs --tables")
    if options.records and not (options.events or options.tables):
        raise InvalidInputError("--events", "is missing: --records needs --events or --tables")


def _nothing(options: argparse.Namespace, report: AuditReport) -> RebalanceAgentError:
    """Return the error for an audit that found neither records nor events to compare."""
    if options.groups:
        return InvalidInputError(
            "--groups", f"no record and no event belongs to a group that matches {options.groups!r}"
        )
    left = "".join(f"; there are {number} {why}" for why, number in report.unjudged.items())
    where = "the files" if options.records else "the cluster, the events' topic and the permissions"
    return RebalanceAgentError(
        f"nothing to compare: no record or event belongs to a group that `observe` shows{left}. Check {where}. If "
        "there are no groups yet, use --allow-empty"
    )


def _of_cluster(options: argparse.Namespace) -> dict[str, _Account]:
    settings, properties = cluster_settings(options)
    shows, clock = _name_filter(options, settings), SystemClock()
    cluster = VerifiedCluster(properties, clock)
    until_ms = clock.now_ms()
    if options.tables:
        accounts = _of_tables(options, cluster.cluster_id, shows)
    else:
        ledger, whole_ms = Ledger(cluster.cluster_id, shows), 0
        if options.events:
            for event, position in _events(options):
                ledger.add_event(event, position)
        else:
            whole_ms = cluster.events(options.events_topic or settings.events_topic, ledger.add_event)
            ledger.report.leave(NO_EVENTS, cluster.unread)
        accounts = {"events": _Account(ledger, max(whole_ms, ledger.first_ms or 0), until_ms)}
    _expect(accounts, options, cluster.names())
    cluster.post(*(account.ledger for account in accounts.values()))
    return accounts


def _of_files(options: argparse.Namespace) -> dict[str, _Account]:
    shows = _name_filter(options, load(ObserverSettings, None, {}))
    accounts = _of_tables(options, None, shows) if options.tables else _of_event_files(options, shows)
    _expect(accounts, options, {})
    for record in records_in(options.records):
        for account in accounts.values():
            account.ledger.add_record(record)
    return accounts


def _of_event_files(options: argparse.Namespace, shows: GroupFilter) -> dict[str, _Account]:
    published = _events(options)
    first = next(published, None)
    cluster_id = first[0].cluster_id if first else ""
    ledger = Ledger(cluster_id, shows)
    for event, position in itertools.chain([first] if first else [], published):
        if event.cluster_id != cluster_id:
            raise InvalidInputError("--events", f"come from more than one cluster: {cluster_id}, {event.cluster_id}")
        ledger.add_event(event, position)
    return {"events": _Account(ledger, ledger.first_ms or 0, None)}


def _of_tables(options: argparse.Namespace, cluster_id: str | None, shows: GroupFilter) -> dict[str, _Account]:
    try:
        from rebalance_agent.cli.inputs.verify_tables import events_of_tables  # noqa: PLC0415 - needs Spark
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "rebalance_agent":
            raise
        what = f"needs the package {package!r}; run {install_text('pipeline')}"
        raise InvalidInputError("--tables", what) from None
    tables = events_of_tables(options, cluster_id, shows)
    first_ms, last_ms = tables.events.published.first_ms or 0, tables.events.published.last_ms or 0
    until_ms = tables.generations.published.last_ms if tables.reach_ms is None else tables.reach_ms
    return {
        "events": _Account(tables.events, first_ms, last_ms),
        "generations": _Account(tables.generations, first_ms, until_ms),
    }


def _expect(accounts: dict[str, _Account], options: argparse.Namespace, names: dict[str, str]) -> None:
    grace_ms = round(options.grace_seconds * 1000)
    of_topic = not (options.tables or options.events)
    for account in accounts.values():
        since_ms = account.since_ms if options.since is None else options.since
        window = AuditWindow(since_ms, account.until_ms, grace_ms, options.complete, names, reports=of_topic)
        account.ledger.expect(window)


def _name_filter(options: argparse.Namespace, settings: ObserverSettings) -> GroupFilter:
    if options.groups:
        try:
            return GroupFilter(options.groups)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidInputError("--groups", f"is not a regular expression: {error}") from None
    return GroupFilter(settings.groups_allow, settings.groups_deny)


def _events(options: argparse.Namespace) -> Iterator[tuple[AuditedEvent, RecordPosition]]:
    """Yield the events about groups in the files; events of members are left out, which may lack a cluster id."""
    for name in options.events:
        for event, position in events_in("--events", name):
            if isinstance(event, AuditedEvent):
                yield event, position


def _check_counters(metrics: str, events: str, options: argparse.Namespace, report: AuditReport) -> None:
    scrape, shows = scrape_in(metrics), GroupFilter(options.groups or ".*")
    slim = [_slim(event) for event, _ in events_in("--lifetime", events) if shows(event.group)]
    settled_ms = round(options.grace_seconds * 1000)
    counters, at_ms = {group: values for group, values in scrape.counters.items() if shows(group)}, scrape.at_ms
    check_lifetime(
        LifetimeCounters(metrics, counters, slim, at_ms, settled_ms, scrape.started_from_snapshot, scrape.replayed),
        report,
    )


def _slim(event: Event) -> Event:
    """Return the event with at most one member, to save memory; counters only need whether there are any."""
    return replace(event, members=event.members[:1]) if isinstance(event, GenerationEvent) else event
