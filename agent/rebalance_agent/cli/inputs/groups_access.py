"""Flags that choose the source of `watch`, `explain` and `whatif`: an agent, or a cluster observed in this process."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Mapping

import structlog

from rebalance_agent.api.group_source import GroupSource, meant_group
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.api.shapes import RebalanceList
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.cli.inputs.cluster_flags import add_cluster_flags, names_cluster
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings, similar_group
from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.bearer import checked_token
from rebalance_agent.runtime.processes.logs import configure_logs
from rebalance_agent.runtime.settings.agent_ports import WEB_PORT
from rebalance_agent.runtime.settings.kafka_config import read_secret
from rebalance_agent.runtime.watch.history_reader import GroupPast, read_past
from rebalance_agent.ui.words import printable

__all__ = [
    "URL",
    "add_access_flags",
    "add_host_flag",
    "agent_api",
    "agent_source",
    "host_names",
    "past_in_cluster",
    "quiet_logs",
    "remembered_rebalances",
    "wants_direct",
]

URL = f"http://localhost:{WEB_PORT}"
URL_VARIABLE = "REBALANCE_AGENT_URL"
"""Default address: an observer on this machine."""


def add_access_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of both sources."""
    agent = parser.add_argument_group("query an agent (the default)")
    agent.add_argument("--url", metavar="URL", help=f"URL of the agent (default {URL}; env {URL_VARIABLE})")
    agent.add_argument("--token-file", metavar="FILE", help="file with the bearer token, if the agent requires one")
    agent.add_argument("--ca-file", metavar="FILE", help="PEM certificates to trust instead of the system's")
    agent.add_argument("--cert-file", metavar="FILE", help="PEM client certificate, if the agent requires one")
    agent.add_argument("--key-file", metavar="FILE", help="key of the client certificate, if it is in another file")
    add_cluster_flags(parser, "or connect to a cluster directly, without an agent")


def add_host_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag for what counts as a member's host."""
    parser.add_argument(
        "--host-names",
        metavar="RULES",
        default="",
        help="rule for a member's host, as in the observer's setting host_names (default: the member's address)",
    )


def host_names(options: argparse.Namespace) -> HostNames:
    """Return the rules for host names, from the flag or else from the setting of the cluster to observe.

    Raises:
        InvalidInputError: the flag is not valid, or a setting is wrong.
    """
    if not options.host_names and names_cluster(options):
        return HostNames.parse(cluster_settings(options)[0].host_names)
    try:
        return HostNames.parse(options.host_names)
    except InvalidInputError as error:
        raise InvalidInputError("--host-names", error.problem) from None


def wants_direct(options: argparse.Namespace) -> bool:
    """Return whether the flags name a cluster to observe in this process.

    Raises:
        InvalidInputError: the flags name both sources.
    """
    direct = names_cluster(options)
    agent_flags = [name for name in ("url", "token_file", "ca_file", "cert_file", "key_file") if getattr(options, name)]
    if direct and agent_flags:
        flag = agent_flags[0].replace("_", "-")
        raise InvalidInputError(f"--{flag}", "needs an agent; --bootstrap-servers reads a cluster without an agent")
    return direct


def agent_api(options: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> AgentApi:
    """Return a client of the agent that the flags name.

    Raises:
        InvalidInputError: the address is invalid, or a file cannot be used.
    """
    if options.key_file and not options.cert_file:
        raise InvalidInputError("--key-file", "needs --cert-file")
    token = None
    if options.token_file:
        token = checked_token("--token-file", read_secret("--token-file", options.token_file))
    url = options.url or environment.get(URL_VARIABLE) or URL
    source = "--url" if options.url else URL_VARIABLE
    return AgentApi(url, token, options.ca_file, options.cert_file, options.key_file, source=source)


def agent_source(agent: AgentApi) -> str:
    """Describe the agent as a source of rebalances; if the agent is not ready, the second line shows the reasons."""
    source, unready = "the agent's observations since its start", agent.unready()
    return f"{source}.\n{unready[0].upper()}{printable(unready[1:])}" if unready else source


def remembered_rebalances(groups: GroupSource, group: str) -> RebalanceList:
    """Return the rebalances of ``group`` that the agent keeps.

    Raises:
        NotKnownError: the agent does not have the group; the text names a group with a similar name, if there is one.
        RebalanceAgentError: the agent does not answer.
    """
    try:
        return groups.rebalances(group)
    except NotKnownError as error:
        meant = meant_group(groups, group)
        # The similar name replaces the last part of the text, which names the command that lists the groups.
        unknown, _, rest = str(error).rpartition("; ")
        raise NotKnownError(f"{unknown or rest}{meant}" if meant else str(error)) from None


def past_in_cluster(options: argparse.Namespace) -> GroupPast:
    """Return the past of ``options.group`` in the cluster that the flags name.

    Raises:
        NotKnownError: the cluster has no such group.
        RebalanceAgentError: a setting is wrong, or the cluster does not answer.
    """
    settings, properties = cluster_settings(options)
    past = read_past(properties, settings.events_topic, options.group, SystemClock())
    if not past.known:
        source = past.source.splitlines()[0].rstrip(".")
        meant = similar_group(properties, options.group)
        raise NotKnownError(f"there is no group {options.group!r} in {source}{meant}")
    return past


def quiet_logs() -> None:
    """Suppress log lines, because they would damage the table on the terminal."""
    configure_logs("error", "console")
    logging.getLogger().handlers = [logging.NullHandler()]
    structlog.configure(cache_logger_on_first_use=False)
