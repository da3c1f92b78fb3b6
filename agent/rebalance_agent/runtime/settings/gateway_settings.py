"""Settings of the gateway: the sidecar's settings, the addresses for clients, and the rules for groups."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from rebalance_agent.gateway.group_rules import ASSIGN_SECONDS, parse_rules
from rebalance_agent.gateway.rule_texts import RULE_TEXT_MAX
from rebalance_agent.gateway.seat_rules import ADMISSION_SECONDS_MAX, parse_seat_rules
from rebalance_agent.gateway.telemetry.client_subscription import PREFIXES_TEXT_MAX, metric_prefixes
from rebalance_agent.runtime.settings.agent_ports import BROKER_PORT_BASE, GATEWAY_PORT
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.settings.text_types import GatewayAddress, Text, checked, overlap, split_address

__all__ = ["GatewaySettings", "without_unused_gateway"]


def _host(text: str) -> None:
    split_address(f"[{text}]:0" if ":" in text else f"{text}:0")


class GatewaySettings(SidecarSettings):
    """``rebalance-agent gateway``."""

    gateway_listen: GatewayAddress = Field(
        f"127.0.0.1:{GATEWAY_PORT}", description="address that clients use as their bootstrap.servers"
    )
    gateway_port_base: int = Field(
        BROKER_PORT_BASE,
        ge=0,
        le=65_000,
        description="the gateway's port for a broker is this number plus the broker's node id; 0: any free port",
    )
    gateway_advertised_host: Annotated[Text, checked(_host)] = Field(
        "", description="host that clients connect to for every broker; empty: the host of gateway_listen"
    )
    gateway_beyond_loopback: bool = Field(
        default=False, description="whether gateway_listen may be an address that other machines can reach"
    )
    gateway_groups: Annotated[str, checked(parse_rules), Field(max_length=RULE_TEXT_MAX)] = Field(
        "",
        description="groups that get an assignor of this library: PATTERN=STRATEGY[,assignment.KEY=VALUE...]; ... "
        "(PATTERN: a regular expression that matches the whole name); empty: none, frames are only forwarded",
    )
    gateway_seats: Annotated[str, checked(parse_seat_rules), Field(max_length=RULE_TEXT_MAX)] = Field(
        "",
        description="groups whose restarted consumers take the seats of their predecessors: "
        "PATTERN=MODE[,seats.KEY=VALUE...]; ... (MODE: on, observe or off); empty: none",
    )
    gateway_admission_seconds: float = Field(
        0.0,
        ge=0,
        le=ADMISSION_SECONDS_MAX,
        description="in groups with seats, new consumers that find no seat wait until the clock reaches a multiple of "
        "this many seconds, and then join together; at these times, the gateway also gives up vacant seats; 0: off",
    )
    gateway_seats_file: Text = Field(
        "",
        description="file in which this gateway saves the seats of its consumers, to restore them after a restart; no "
        "other gateway may use the file; its folder must exist, and must remain when the process ends; empty: none",
    )
    gateway_seats_switch_file: Text = Field(
        "",
        description="file that switches seats off for all groups while it exists, unless it contains `on`; empty: none",
    )
    gateway_generations: bool = Field(
        default=False,
        description="whether to publish the generations whose leader is behind this gateway, for observers "
        "without permission to read __consumer_offsets",
    )
    gateway_assign_seconds: float = Field(
        ASSIGN_SECONDS,
        gt=0,
        le=60,
        description="how long a group waits for the gateway's assignor before the client's own assignment is used",
    )
    gateway_rack: Text = Field(
        "", description="rack (client.rack) of consumers that send no rack when they join; empty: unknown"
    )
    gateway_telemetry: bool = Field(
        default=False,
        description="whether the gateway requests clients' own metrics (KIP-714) if the brokers do not",
    )
    gateway_telemetry_seconds: float = Field(
        15.0, ge=1, le=3600, description="time between two pushes of metrics by a client"
    )
    gateway_telemetry_metrics: Annotated[str, checked(metric_prefixes), Field(max_length=PREFIXES_TEXT_MAX)] = Field(
        "",
        description="comma-separated prefixes of metrics to request from clients, in addition to those that the "
        "gateway exports; useful with gateway_telemetry_pass",
    )
    gateway_telemetry_pass: bool = Field(
        default=False,
        description="whether everything that clients push is also sent to the OTLP endpoint in "
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    )
    gateway_tls_cert_file: Text = Field("", description="PEM file with the certificate for clients; empty: no TLS")
    gateway_tls_key_file: Text = Field("", description="PEM file with the key of gateway_tls_cert_file, unencrypted")
    gateway_tls_client_ca_file: Text = Field(
        "", description="PEM file with the CA certificates for client certificates; empty: clients need no certificate"
    )
    gateway_drain_seconds: float = Field(
        20.0,
        ge=0,
        le=3600,
        description="at shutdown, how long the gateway serves clients while it waits for them to disconnect; the wait "
        "for events (stop_seconds) begins afterwards; Kubernetes kills a pod after 30 seconds by default",
    )

    @model_validator(mode="after")
    def _own_bootstrap(self) -> Self:
        for name in ("listen", "events_listen"):
            other = getattr(self, name)
            if other and overlap(split_address(self.gateway_listen), split_address(other)):
                raise ValueError(f"gateway_listen: must not use the same port as {name}")
        return self


def without_unused_gateway(settings: GatewaySettings) -> SidecarSettings:
    """Return ``settings`` if a setting that only the gateway has is set; otherwise only the sidecar's settings."""
    fields = SidecarSettings.model_fields
    if settings.model_fields_set - fields.keys():
        return settings
    return SidecarSettings.model_construct(
        settings.model_fields_set, **{name: getattr(settings, name) for name in fields}
    )
