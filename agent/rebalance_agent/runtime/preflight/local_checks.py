"""Checks a role's requirements outside Kafka: files, addresses to listen on, the webhook."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.listeners.configured_listeners import events_endpoint
from rebalance_agent.runtime.listeners.free_address import listen_problem
from rebalance_agent.runtime.preflight.diagnosis import TIMEOUT_S, connection_trouble, tls_trouble
from rebalance_agent.runtime.preflight.findings import Finding, failed, in_use, passed
from rebalance_agent.runtime.settings.flags import flag
from rebalance_agent.runtime.settings.listener_security import (
    bearer_of,
    listener_tls,
    tls_paths,
    token_file,
    webhook_tls,
)
from rebalance_agent.runtime.settings.roles import AgentSettings, ListeningSettings
from rebalance_agent.runtime.settings.text_types import split_address
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.runtime.sinks.configured_sinks import configured_webhook
from rebalance_agent.runtime.sinks.file_sink import EventsFile

__all__ = ["free_address", "local_findings"]

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on

_SERVER = "rebalance-agent"
"""The header ``Server`` in every answer of the agent's listeners, including refusals."""

_NO_CHECK_TIME = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which also accepts an expired certificate."""


def local_findings(settings: AgentSettings, clock: Clock) -> Iterator[Finding]:
    """Yield one finding per file, address and webhook in the settings; files and listeners come first.

    The checks use the functions that refuse the settings when the role starts.
    """
    yield from _files(settings, clock)
    yield free_address(settings, "listen", settings.listen, "serves metrics, health and the API")
    if isinstance(settings, ListeningSettings) and settings.events_listen:
        yield _events_listen(settings, clock)
    if settings.events_file:
        yield _events_file(settings)
    if settings.events_webhook:
        yield _webhook(settings, clock)


def _files(settings: AgentSettings, clock: Clock) -> Iterator[Finding]:
    # The first path that is set names the row: an incomplete set of certificate, key and authority is also an error.
    files: list[tuple[str, Callable[[], object]]] = [
        (next(filter(None, tls_paths(settings, "tls_")), ""), lambda: listener_tls(settings, "tls_", clock)),
        (settings.web_token_file, lambda: bearer_of("web_token_file", settings.web_token_file, clock)),
    ]
    if settings.events_webhook:
        token = settings.events_webhook_token_file
        files.append((token, lambda: token_file("events_webhook_token_file", token, clock)))
    if isinstance(settings, ListeningSettings) and settings.events_listen:
        tls = next(filter(None, tls_paths(settings, "events_tls_")), "")
        files += [
            (tls, lambda: listener_tls(settings, "events_tls_", clock)),
            (settings.events_token_file, lambda: bearer_of("events_token_file", settings.events_token_file, clock)),
        ]
    for path, load in files:
        if path:
            yield _built(f"file {path}", "", load) or passed(f"file {path}", "can be read and used")


def _built(name: str, purpose: str, build: Callable[[], object]) -> Finding | None:
    """Return the finding of a failed ``build``; None if it succeeds."""
    try:
        build()
    except InvalidInputError as error:
        return failed(name, str(error), f"correct {error.field}", purpose)
    return None


def _events_listen(settings: ListeningSettings, clock: Clock) -> Finding:
    purpose = "members post events to it"
    refused = _built(f"events_listen {settings.events_listen}", purpose, lambda: events_endpoint(settings, clock))
    return refused or free_address(settings, "events_listen", settings.events_listen, purpose)


def free_address(settings: AgentSettings, setting: str, address: str, purpose: str) -> Finding:
    """Return whether ``address``, the value of ``setting``, can be listened on, or is in use by a running agent."""
    name = f"{setting} {address}"
    if not (problem := listen_problem(address)):
        return passed(name, "is free", purpose)
    if _agent_answers(settings):
        return in_use(name, f"in use by a running agent; a second agent needs another address: {flag(setting)}")
    return failed(name, f"cannot listen: {problem}", f"choose another: {flag(setting)}", purpose)


def _agent_answers(settings: AgentSettings) -> bool:
    """Return whether an agent listens on the web port of these settings: a check beside a running agent must not fail.

    With TLS, the agent must have the certificate in the settings. No token is sent: a refusal also identifies an agent.
    """
    host, port = split_address(settings.listen)
    host = _WILDCARDS.get(host, host)
    try:
        with closing(_connection(host, port, settings.tls_cert_file)) as connection:
            connection.connect()
            if settings.tls_client_ca_file:
                return True  # without a client certificate no request is possible
            connection.request("GET", "/healthz")
            return connection.getresponse().getheader("Server") == _SERVER
    except (OSError, HTTPException):
        return False


def _connection(host: str, port: int, certificate: str) -> HTTPConnection:
    """Return a connection without a proxy; if a ``certificate`` is given, the server must have that certificate."""
    if not certificate:
        return HTTPConnection(host, port, timeout=TIMEOUT_S)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate is for the name that clients use
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    context.load_verify_locations(certificate)
    return HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)


def _events_file(settings: AgentSettings) -> Finding:
    path, bytes_max, files_max = settings.events_file, settings.events_file_bytes, settings.events_file_count
    name, purpose = f"events_file {path}", "events are appended to it"
    fix = "give this user permission to write there, or choose another: --events-file"
    if _missing(path):
        # Do not create the file to find out: a check changes nothing.
        if not os.access(Path(os.path.realpath(path)).parent, os.W_OK | os.X_OK):
            return failed(name, "is not writable", fix, purpose)
    elif refused := _built(name, purpose, lambda: EventsFile(path, bytes_max, files_max)):
        return replace(refused, fix=fix)
    return passed(name, "is writable", purpose)


def _missing(path: str) -> bool:
    try:
        Path(path).stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)  # otherwise opening the file fails with the reason
    return False


def _webhook(settings: AgentSettings, clock: Clock) -> Finding:
    target = webhook_target(settings.events_webhook)
    # The name is without the path, which may be secret.
    name, purpose = f"events_webhook {target.scheme}://{target.host}:{target.port}", "events are posted to it"
    if refused := _built(name, purpose, lambda: configured_webhook(settings, clock)):
        return refused
    trouble = connection_trouble(target.host, target.port)
    if not trouble and target.scheme == "https":
        trouble = tls_trouble(target.host, target.port, webhook_tls(settings, clock).get())
    if trouble:
        return failed(name, *trouble, purpose)
    return passed(name, "accepts connections; nothing was posted", purpose)
