"""``rebalance-agent sidecar``: receives rebalance events from the consumers of a pod, exports and publishes them."""

from __future__ import annotations

import argparse
import sys
import threading

from rebalance_agent.cli.agent_command import AgentRole, add_agent_parser, run_agent
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.processes.signals import stop_on_signals
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings, without_unused_gateway

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Runs beside consumers and receives their rebalance events, one JSON object per line:
POST http://127.0.0.1:29309/v1/events

It exports each consumer's own measurements on /metrics, and publishes the events to the topic rebalance-events, from
which the observer gets exact stalls instead of bounds. Without bootstrap servers, it only exports metrics. It reads the
pod's name, node, workload and image from the environment (Kubernetes' downward API): POD_NAME, NODE_NAME, WORKLOAD,
IMAGE.

With any setting of the gateway (--gateway-...) it is also a gateway: see `rebalance-agent gateway --help`.
"""

EXAMPLES = """\
examples:
  rebalance-agent sidecar --bootstrap-servers localhost:9092
  rebalance-agent sidecar --config sidecar.toml
  rebalance-agent sidecar --events-listen 0.0.0.0:29309 --events-token-file /run/secrets/events-token
  rebalance-agent sidecar --bootstrap-servers localhost:9092 --gateway-groups 'orders=weighted-sticky'
  curl -s localhost:29308/metrics | grep kafka_rebalance_member_

permissions of the sidecar: Write on the events topic, and Create if the topic does not exist. `rebalance-agent check
--role sidecar` tests these permissions, and prints the commands that grant missing permissions.

Precedence of settings: flags, environment, file, defaults. Exit code 0 after a signal, 2 if the sidecar cannot start
(a wrong setting, a file that cannot be used, an address in use), 1 if the sidecar fails later. --stay is for a pod
whose other containers wait for the sidecar: if the sidecar cannot start, it waits for a signal, and then exits with
code 2.
"""

CANNOT_BEGIN = 2
"""Exit code of `run_agent` if the process could not start."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    parser = add_agent_parser(subparsers, "sidecar", GatewaySettings, DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "--stay",
        action="store_true",
        help="if the sidecar cannot start, print the reason and wait for a signal instead of exiting",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal, and return the exit code."""
    if not args.stay:
        return run_agent("sidecar", GatewaySettings, args, _role, _restarts, without_unused_gateway)
    stop = threading.Event()
    # Handlers stay installed: a container's first process gets only the signals that it has a handler for.
    with stop_on_signals(stop):
        code = run_agent("sidecar", GatewaySettings, args, _role, _restarts, without_unused_gateway)
        if code == CANNOT_BEGIN:
            print("rebalance-agent sidecar: waiting for a signal to exit (--stay)", file=sys.stderr, flush=True)
            stop.wait()
    return code


def _restarts(settings: GatewaySettings) -> bool:
    return not isinstance(without_unused_gateway(settings), GatewaySettings)


def _role(settings: GatewaySettings, properties: dict[str, str]) -> AgentRole:
    role_settings = without_unused_gateway(settings)
    if not isinstance(role_settings, GatewaySettings):
        return Sidecar(role_settings, properties)
    from rebalance_agent.runtime.processes.gateway import GatewayRole  # noqa: PLC0415 - a plain sidecar lacks kafka-python

    return GatewayRole(role_settings, properties)
