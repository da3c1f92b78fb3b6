"""``rebalance-agent gateway``: runs a proxy between consumers and brokers that assigns partitions of chosen groups."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from rebalance_agent.advice import history_of
from rebalance_agent.cli.agent_command import AgentRole, add_agent_parser, load_agent, run_agent
from rebalance_agent.cli.command_parser import not_empty
from rebalance_agent.cli.inputs.cluster_settings import similar_group
from rebalance_agent.cli.inputs.groups_access import quiet_logs
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError, check_hint
from rebalance_agent.gateway.group_rules import parse_rules
from rebalance_agent.gateway.past.past_seats import PastSeats, past_seats
from rebalance_agent.gateway.seat_rules import SeatRule, parse_seat_rules
from rebalance_agent.model.group import GroupState
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.text_types import SERVERS
from rebalance_agent.runtime.watch.history_reader import read_past
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Runs beside consumers in any language and gives their groups an assignor of this library, without code changes: the
consumers connect to 127.0.0.1:29092 instead of to the brokers, and keep their own assignor, such as `range`.

Each broker gets its own port on this machine (by default 29400 plus its node id). In responses, the gateway replaces
the brokers' addresses with these ports, and limits the API versions to those that it can read. Apart from this, it only
changes JoinGroup and SyncGroup of the groups in `gateway_groups`, unless gateway_seats or gateway_telemetry is set. It
does not read records. It publishes an event for each callback of its clients' rebalances; these events narrow the
bounds of stalls. It is also a sidecar: see `rebalance-agent sidecar --help`.
"""

EXAMPLES = """\
examples:
  rebalance-agent gateway --bootstrap-servers kafka:9092
  rebalance-agent gateway --bootstrap-servers kafka:9092 --gateway-groups 'orders.*=sticky'
  rebalance-agent gateway --bootstrap-servers kafka:9093 --kafka security.protocol=SSL --events-topic ''
  rebalance-agent gateway --bootstrap-servers kafka:9092 --gateway-groups 'orders.*=sticky' --explain orders-eu
  rebalance-agent gateway --bootstrap-servers kafka:9092 --gateway-seats 'orders.*=observe'
  rebalance-agent gateway --bootstrap-servers kafka:9092 --gateway-seats 'orders.*=on' --explain orders-eu
  rebalance-agent gateway --bootstrap-servers kafka:9092 --gateway-seats 'orders.*=on' --explain orders-eu --output json
  curl -s localhost:29308/metrics | grep rebalance_agent_gateway_

TLS: security.protocol and ssl.* are for the brokers, whose certificates and names are always verified; clients connect
without TLS, or with TLS if gateway_tls_cert_file is set. SASL: clients log in to the brokers through the gateway with
their own credentials; the gateway's sasl.* properties are only for publishing events. If the gateway itself has no
login, set --events-topic '' and security.protocol to SSL or PLAINTEXT.

After SIGTERM or Ctrl-C, the gateway serves its clients until they have disconnected, for at most gateway_drain_seconds;
a second signal ends the gateway at once.
Precedence of settings: flags, environment, file, defaults. Exit code 0 after a signal, 2 if the gateway cannot start
(a wrong setting, a file that cannot be used, an address in use), 1 if the gateway fails later. With --explain: 1 if the
rule cannot apply to the group as it is now, or the brokers do not respond; 0 for a group that does not exist yet.
"""

_TEXT = "text"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    parser = add_agent_parser(subparsers, "gateway", GatewaySettings, DESCRIPTION, EXAMPLES)
    text = (
        "print what the gateway would change for GROUP, the group's current state, and how many of the group's "
        "recorded rebalances would have been avoided with seats; then exit, without changing anything"
    )
    parser.add_argument("--explain", type=not_empty, metavar="GROUP", help=text)
    add_output_flag(parser, _TEXT, csv_rows="group")
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal, or print the explanation; return the exit code."""
    if args.explain is not None:
        return _explain(args)
    if args.output != _TEXT:
        args.parser.error("--output requires --explain")
    return run_agent("gateway", GatewaySettings, args, _role, lambda _settings: False)


def _explain(args: argparse.Namespace) -> int:
    loaded = load_agent("gateway", GatewaySettings, args)
    if loaded is None:
        return 2
    # Imported after the settings are loaded, so that a wrong rule is an error even without kafka-python.
    from rebalance_agent.gateway.explain_rules import explain, past_text, rewrite_obstacle  # noqa: PLC0415
    from rebalance_agent.gateway.explained_fields import EXPLAINED_COLUMNS, explained_fields  # noqa: PLC0415

    settings, properties = loaded
    quiet_logs()
    now, unknown = _described(properties, args.explain)
    rules = parse_rules(settings.gateway_groups)
    seats = parse_seat_rules(settings.gateway_seats)
    rule, rule_for_seats = rules.of(args.explain), seats.of(args.explain)
    past, source = None, ""
    if rule_for_seats and not unknown:
        past, source = _past(settings, properties, args.explain, rule_for_seats)
    if args.output == _TEXT:
        admission = settings.gateway_admission_seconds
        similar = "" if now or unknown else similar_group(properties, args.explain)
        text = past_text(past, source) if source else ""
        print(
            explain(rules, args.explain, now, unknown, seats, text, admission_seconds=admission, similar=similar),
            end="",
        )
    else:
        fields = explained_fields(args.explain, rule, rule_for_seats, now, past, unknown=unknown, past_source=source)
        csv = args.output == "csv"
        print(as_csv(EXPLAINED_COLUMNS, [fields]) if csv else as_text(fields, args.output, 2))
    if unknown and properties.get(SERVERS):
        print(check_hint("gateway"), file=sys.stderr)
    return int(bool(unknown) or (rule is not None and now is not None and bool(rewrite_obstacle(rule, now))))


def _role(settings: GatewaySettings, properties: dict[str, str]) -> AgentRole:
    # See `run`.
    from rebalance_agent.runtime.processes.gateway import GatewayRole  # noqa: PLC0415

    return GatewayRole(settings, properties)


def _past(
    settings: GatewaySettings, properties: Mapping[str, str], group: str, rule: SeatRule
) -> tuple[PastSeats | None, str]:
    """Return what the rule would have avoided, as far back as the cluster has records, and the records' source.

    If the records cannot be read: None, and the reason.
    """
    try:
        past = read_past(properties, settings.events_topic, group, SystemClock())
    except ClusterError as error:
        return None, str(error)
    source = past.source.partition("\n")[0].rstrip(".")  # the other lines describe the gaps of the records
    return past_seats(history_of(past.events), rule, settings.gateway_admission_seconds), source


def _described(properties: Mapping[str, str], group: str) -> tuple[DescribedGroup | None, str]:
    """Return the described group, or None and the reason; None and an empty string if there is no such group."""
    if not properties.get(SERVERS):
        return None, "kafka.bootstrap.servers contains no broker"
    try:
        described = Cluster(properties).describe_groups([group])
    except ClusterError as error:
        return None, str(error)
    return next((each for each in described if each.state is not GroupState.DEAD), None), ""
