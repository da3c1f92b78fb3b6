"""Reads a gateway's addresses from settings: those to listen on, and those of the brokers to connect to."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.gateway_server import ListenAddresses
from rebalance_agent.http.loopback import is_loopback
from rebalance_agent.runtime.settings.broker_tls import broker_tls
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.listener_security import listener_tls
from rebalance_agent.runtime.settings.text_types import server_addresses, split_address

__all__ = ["listen_addresses"]

ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


def listen_addresses(settings: GatewaySettings, properties: Mapping[str, str], clock: Clock) -> ListenAddresses:
    """Return the addresses to listen on and to connect to, with the TLS contexts for both sides.

    Raises:
        InvalidInputError: a setting is missing, contradicts another, or its file cannot be used; names the setting.
    """
    if not (servers := server_addresses(properties)):
        raise InvalidInputError("kafka.bootstrap.servers", "is missing: add --bootstrap-servers HOST:PORT,...")
    host, port = split_address(settings.gateway_listen)
    if not is_loopback(host) and not settings.gateway_beyond_loopback:
        raise InvalidInputError(
            "gateway_listen",
            f"{host} can be reached from other machines: set gateway_beyond_loopback to true to allow this",
        )
    advertised = settings.gateway_advertised_host or host
    if advertised in ANY_ADDRESS:
        raise InvalidInputError(
            "gateway_advertised_host", f"is missing: {host} is not an address that clients can connect to"
        )
    return ListenAddresses(
        servers,
        (host, port),
        advertised,
        settings.gateway_port_base,
        to_brokers=broker_tls(properties),
        from_clients=tls.context if (tls := listener_tls(settings, "gateway_tls_", clock)) else None,
    )
