"""What a role needs of its own machine and of those it sends to: files, addresses to listen on, the webhook."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.check.diagnosis import TIMEOUT_S, connection_trouble, tls_trouble
from rebalance_agent.runtime.check.findings import Finding, Status
from rebalance_agent.runtime.listening import bearer_of, events_tls, token_file, web_tls
from rebalance_agent.runtime.settings import AgentSettings, SidecarSettings, split_address
from rebalance_agent.runtime.sink_webhook import webhook_context, webhook_target

__all__ = ["local_findings"]

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on


def local_findings(settings: AgentSettings, clock: Clock) -> Iterator[Finding]:
    """One finding for each thing that the settings name; files and listeners first."""
    yield from _files(settings, clock)
    yield _address("listen", settings.listen, "metrics, health and the API are served there")
    if isinstance(settings, SidecarSettings):
        yield _address("events_listen", settings.events_listen, "consumers post their events there")
    if settings.events_file:
        yield _events_file(settings.events_file)
    if settings.events_webhook:
        yield _webhook(settings)


def _files(settings: AgentSettings, clock: Clock) -> Iterator[Finding]:
    wanted: list[tuple[str, Callable[[], object]]] = [
        (settings.tls_cert_file, lambda: web_tls(settings, clock)),
        (settings.web_token_file, lambda: bearer_of("web_token_file", settings.web_token_file, clock)),
        (
            settings.events_webhook_token_file,
            lambda: token_file("events_webhook_token_file", settings.events_webhook_token_file, clock),
        ),
    ]
    if isinstance(settings, SidecarSettings):
        wanted += [
            (settings.events_tls_cert_file, lambda: events_tls(settings, clock)),
            (settings.events_token_file, lambda: bearer_of("events_token_file", settings.events_token_file, clock)),
        ]
    for path, load in wanted:
        if path:
            try:
                load()
            except InvalidInputError as error:
                yield Finding(f"file {path}", Status.FAILED, detail=str(error), fix=f"correct {error.field}")
            else:
                yield Finding(f"file {path}", Status.OK, detail="can be read and used")


def _address(setting: str, address: str, purpose: str) -> Finding:
    name = f"{setting} {address}"
    host, port = split_address(address)
    try:
        family, kind, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with closing(socket.socket(family, kind)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        if _agent_answers(host, port):
            return Finding(name, Status.OK, purpose, "an agent listens there now")
        flag = "--" + setting.replace("_", "-")
        return Finding(
            name, Status.FAILED, purpose, f"cannot be listened on: {error.strerror}", fix=f"choose another: {flag}"
        )
    return Finding(name, Status.OK, purpose, "is free")


def _agent_answers(host: str, port: int) -> bool:
    """Whether one of ours listens there without TLS; a check beside a running agent is no failure."""
    name = _WILDCARDS.get(host, host)
    url = f"http://{f'[{name}]' if ':' in name else name}:{port}/healthz"
    try:
        # Straight there, whatever proxy the environment names.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=TIMEOUT_S) as answer:
            return bool(json.loads(answer.read(1_000)) == {"alive": True})
    except (OSError, ValueError):
        return False


def _events_file(path: str) -> Finding:
    name, purpose = f"events_file {path}", "events are appended to it"
    there = Path(path)
    if there.is_dir() or not os.access(there if there.exists() else there.absolute().parent, os.W_OK):
        fix = "give this user the right to write there, or choose another: --events-file"
        return Finding(name, Status.FAILED, purpose, "cannot be written", fix=fix)
    return Finding(name, Status.OK, purpose, "can be written")


def _webhook(settings: AgentSettings) -> Finding:
    target = webhook_target(settings.events_webhook)
    # Without its path, which may be a secret.
    name, purpose = f"events_webhook {target.scheme}://{target.host}:{target.port}", "events are posted to it"
    trouble = connection_trouble(target.host, target.port)
    if not trouble and target.scheme == "https":
        try:
            context = webhook_context(settings.events_webhook_ca_file)
        except InvalidInputError as error:
            return Finding(name, Status.FAILED, purpose, str(error), fix="correct events_webhook_ca_file")
        trouble = tls_trouble(target.host, target.port, context)
    if trouble:
        return Finding(name, Status.FAILED, purpose, trouble[0], fix=trouble[1])
    return Finding(name, Status.OK, purpose, "takes connections; nothing was posted")
