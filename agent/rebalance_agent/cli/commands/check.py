"""``rebalance-agent check``: tests every requirement of a role, and prints how to get the missing ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from rebalance_agent.cli.agent_command import add_agent_parser, load_agent
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.acls import UNKNOWN_PRINCIPAL, principal_of
from rebalance_agent.runtime.preflight.acl_script import acl_script
from rebalance_agent.runtime.preflight.findings import Finding, exit_code
from rebalance_agent.runtime.preflight.findings_report import CHECK_FIELDS, closing, report, row
from rebalance_agent.runtime.preflight.plan import findings
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings, without_unused_gateway
from rebalance_agent.runtime.settings.rights import agent_rights
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings
from rebalance_agent.runtime.settings.text_types import SERVERS
from rebalance_agent.ui.terminal import has_colors, is_live

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Checks whether the observer, a sidecar or a gateway can run with these settings. The command tests files, the address
to listen on, each server (DNS, TCP, TLS, login), each broker at its advertised address, and each permission. For a
gateway, `check` also tests the ports, and whether the rules can apply to the current groups. `check` changes nothing:
it creates no topic, writes no record and joins no group.

For each missing permission, `check` shows what the agent cannot do, and the command that grants the permission. Run
`check` where the agent will run, before the agent starts, and again when /readyz shows a degraded mode. With
--acl-script, `check` contacts no broker and prints a script that grants all permissions of the role at once.
"""

EXAMPLES = """\
examples:
  rebalance-agent check --bootstrap-servers localhost:9092
  rebalance-agent check --config observer.yaml
  rebalance-agent check --role sidecar --config sidecar.toml
  rebalance-agent check --role gateway --bootstrap-servers kafka:9092 --gateway-groups 'orders=sticky'
  rebalance-agent check --bootstrap-servers kafka:9093 --kafka security.protocol=SASL_SSL \\
      --kafka sasl.mechanism=SCRAM-SHA-512 --kafka sasl.username=observer \\
      --kafka sasl.password.file=/run/secrets/kafka-password
  rebalance-agent check --config observer.yaml --json | jq -r '.checks[] | select(.fix) | .fix'
  rebalance-agent check --config observer.yaml --acl-script > acls.sh

result of each check:
  ok       tested, and it works
  missing  the permission is missing: the agent runs without it, in the degraded mode that the row names
  failed   tested, and it does not work
  skipped  not needed, or cannot be tested now

Exit code 0 if all requirements are met, 1 if something is missing or failed, 2 if no server can be reached or a
setting is wrong. Precedence of settings: flags, environment, file, defaults.
"""

ROLES: dict[str, type[AgentSettings]] = {
    "observer": ObserverSettings,
    "sidecar": GatewaySettings,
    "gateway": GatewaySettings,
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with the flags of all roles."""
    parser = add_agent_parser(subparsers, "check", ObserverSettings, DESCRIPTION, EXAMPLES, GatewaySettings)
    parser.add_argument(
        "--role",
        choices=tuple(ROLES),
        default="observer",
        help="the role to check (default %(default)s)",
    )
    add_output_flag(parser, "table", csv_rows="requirement", json_help="short for --output json: one object at the end")
    parser.add_argument(
        "--acl-script", action="store_true", help="only print a shell script that grants all permissions"
    )
    parser.add_argument(
        "--principal",
        type=_principal,
        metavar="TYPE:NAME",
        help="the agent's principal, such as User:CN=agent; needed with --acl-script if only the brokers can "
        "determine the principal (OAUTHBEARER, Kerberos, client certificates)",
    )
    parser.set_defaults(run=run, parser=parser)


def _principal(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise argparse.ArgumentTypeError(f"{text!r} must be TYPE:NAME, such as User:agent")
    return text


def run(args: argparse.Namespace) -> int:
    """Run the checks, print each finding as it is reported, and return the exit code."""
    loaded = _loaded(args)
    if loaded is None:
        return 2
    settings, properties = loaded
    principal = args.principal or principal_of(properties)
    if args.acl_script:
        return _print_acl_script(args, settings, properties, principal)
    rows = args.output == "table"
    if rows:
        cluster = f"on {properties[SERVERS]}, as {principal}" if SERVERS in properties else "without a cluster"
        print(f"requirements of the {args.role} {cluster}\n", flush=True)
    reported: list[Finding] = []
    colors = has_colors(sys.stdout)
    for finding in findings(settings, properties, SystemClock()):
        reported.append(finding)
        if rows:
            print(row(finding, colors), flush=True)
        elif is_live(sys.stderr):
            print(f"\r\033[K{len(reported)} checked: {finding.name}"[:100], end="", file=sys.stderr, flush=True)
    if not rows and is_live(sys.stderr):
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(f"\n{closing(reported)}" if rows else _written(report(args.role, principal, reported), args.output))
    return exit_code(reported)


def _print_acl_script(
    args: argparse.Namespace, settings: AgentSettings, properties: Mapping[str, str], principal: str
) -> int:
    if SERVERS not in properties:
        args.parser.error("--acl-script needs the servers: add --bootstrap-servers HOST:PORT,...")
    if principal == UNKNOWN_PRINCIPAL:
        args.parser.error("only the brokers can determine the principal of this login: add --principal TYPE:NAME")
    print(acl_script(args.role, agent_rights(settings), principal, properties[SERVERS]), end="")
    return 0


def _written(checked: Mapping[str, Any], form: str) -> str:
    """Return the report as JSON or YAML, or its checks as CSV."""
    return as_csv([*CHECK_FIELDS], checked["checks"]) if form == "csv" else as_text(checked, form, 2)


def _loaded(args: argparse.Namespace) -> tuple[AgentSettings, dict[str, str]] | None:
    model = ROLES[args.role]
    if args.principal and not args.acl_script:
        args.parser.error("--principal requires --acl-script: checks run as the principal of the login")
    for other in ROLES.values():
        for name in other.model_fields.keys() - model.model_fields.keys():
            if getattr(args, name) is not None:
                args.parser.error(f"--{name.replace('_', '-')} is not a setting of the {args.role}")
    # Administrators run the script. They may not have the agent's password or key.
    loaded = load_agent("check", model, args, connects=not args.acl_script)
    if loaded and args.role == "sidecar" and isinstance(loaded[0], GatewaySettings):
        return without_unused_gateway(loaded[0]), loaded[1]
    return loaded
