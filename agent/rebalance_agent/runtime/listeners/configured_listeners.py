"""Creates the listeners for readers and for posted events, with their tokens and TLS, from settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.api.events_settings import EventsSettings
from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.http.loopback import is_loopback
from rebalance_agent.http.messages import Answer
from rebalance_agent.http.server import HttpServer
from rebalance_agent.http.server_tls import ServerTls
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.dialects import Page
from rebalance_agent.model.events import Event
from rebalance_agent.runtime.listeners.web import HEALTH_PATHS, WebApp
from rebalance_agent.runtime.settings.listener_security import bearer_of, listener_tls
from rebalance_agent.runtime.settings.redacted import shown_settings
from rebalance_agent.runtime.settings.roles import AgentSettings, ListeningSettings
from rebalance_agent.runtime.settings.text_types import LOOPBACKS, WILDCARDS, split_address
from rebalance_agent.ui.page.site import Site

__all__ = ["events_endpoint", "events_server", "page_url", "web_server"]

EVENTS_LIMITS = Limits(workers=2)
"""Limits of the events listener: posts are short, and come from the same pod or from a few sidecars."""


def page_url(settings: AgentSettings, port: int) -> str:
    """Return the page's URL for the log, with ``localhost`` if the server listens on loopback or on all interfaces."""
    host, _ = split_address(settings.listen)
    shown = "localhost" if host in LOOPBACKS | WILDCARDS else f"[{host}]" if ":" in host else host
    return f"http{'s' if settings.tls_cert_file else ''}://{shown}:{port}/"


def web_server(
    settings: AgentSettings,
    pages: Sequence[Page],
    readiness: Readiness,
    site: Site,
    metrics: AgentMetrics,
    clock: Clock,
    api: Callable[[str, str], Answer] | None = None,
    consumers: LatchedReadiness | None = None,
) -> HttpServer:
    """Return the server, not started yet; ``pages``, ``site``, ``api`` and ``consumers`` are those of `WebApp`.

    Raises:
        InvalidInputError: a file cannot be used; names the setting.
    """
    app = WebApp(
        pages,
        readiness,
        site=site,
        api=api,
        config=lambda: shown_settings(settings),
        bearer=bearer_of("web_token_file", settings.web_token_file, clock),
        health_open=not settings.web_token_for_health,
        consumers=consumers,
    )
    tls = listener_tls(settings, "tls_", clock)
    return HttpServer(
        *split_address(settings.listen),
        app,
        refuse=app.refuse,
        tls=tls,
        urgent=HEALTH_PATHS,
        on_cut=metrics.connection_cut,
    )


def events_endpoint(settings: ListeningSettings, clock: Clock) -> tuple[EventsSettings, ServerTls | None]:
    """Return the endpoint's settings, and its TLS (None if TLS is not configured).

    Raises:
        InvalidInputError: a file cannot be used, or an address beyond loopback lacks a required setting; names the
        setting.
    """
    host, port = split_address(settings.events_listen)
    bearer = bearer_of("events_token_file", settings.events_token_file, clock)
    tls = listener_tls(settings, "events_tls_", clock)
    try:
        return EventsSettings(host, port, bearer, mutual_tls=bool(tls and tls.mutual)), tls
    except InvalidInputError as error:
        raise InvalidInputError("events_token_file", error.problem) from None


def events_server(
    settings: ListeningSettings,
    accept: Callable[[Sequence[Event], int], None],
    metrics: AgentMetrics,
    clock: Clock,
    alive: Callable[[str, int], None] = lambda _process, _events: None,
) -> HttpServer:
    """Return the server, not started yet; ``accept`` and ``alive`` are those of `EventsApp`.

    Raises:
        InvalidInputError: see `events_endpoint`.
    """
    endpoint, tls = events_endpoint(settings, clock)
    if endpoint.bearer and not tls and not is_loopback(endpoint.host):
        log = structlog.get_logger("rebalance_agent.posts")
        log.warning("token_unencrypted", listen=settings.events_listen, help="set events_tls_cert_file")
    app = EventsApp(accept, clock, endpoint, metrics.request_rejected, alive)
    return HttpServer(
        endpoint.host,
        endpoint.port,
        app,
        refuse=app.refuse,
        body_bytes_max=endpoint.body_bytes_max,
        limits=EVENTS_LIMITS,
        tls=tls,
        on_cut=metrics.connection_cut,
    )
