"""Settings of the observer and the sidecar as pydantic models.

The models are the only list of settings: flags, ``--help``, environment names and the tables in ``docs/`` are made from
them. Addresses are ``host:port`` in one setting, because Kubernetes sets ``<SERVICE>_PORT`` variables by itself and
would overwrite a setting of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.runtime.settings.kafka_config import kafka_properties
from rebalance_agent.runtime.sinks.webhook_sink import webhook_target
from rebalance_agent.tracking.patterns.copartition import Copartitioned

__all__ = [
    "ENV_PREFIX",
    "HIDDEN_GROUPS",
    "Address",
    "AgentSettings",
    "ListeningSettings",
    "ObserverSettings",
    "SidecarSettings",
    "Text",
    "checked",
    "overlap",
    "split_address",
    "split_server",
]

ENV_PREFIX = "REBALANCE_AGENT_"

HIDDEN_GROUPS = r"__.*|_confluent.*|rebalance-agent.*|console-consumer-\d+"
"""Default of ``groups_deny``, a regular expression: internal groups, the agent's own, those of console consumers."""

KAFKA_PORT = 9092
"""Kafka's port, which librdkafka uses where none is given."""

TEXT_MAX = 1_000
"""Most characters of a text setting: a longer one is a mistake."""

DECLARATIONS_TEXT_MAX = 10_000
"""Most characters of co-partition declarations: some dozens of lines."""

TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")

INTERNAL_TOPICS = (OFFSETS_TOPIC, "__transaction_state", "__share_group_state")

WILDCARDS = {"0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on
LOOPBACKS = {"127.0.0.1", "localhost"}


def split_address(address: str) -> tuple[str, int]:
    """Host and port of ``host:port``; an IPv6 address stands in brackets.

    Raises:
        ValueError: it is not an address, or the port is not between 0 (any free one) and 65535.
    """
    host, colon, port = address.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):  # noqa: PLR2004
        raise ValueError("must be host:port, such as 127.0.0.1:29309 or [::1]:29309")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError("an IPv6 address must have brackets, such as [::1]:29309")
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError("must begin with an address or a host name") from None
    return host.removeprefix("[").removesuffix("]"), int(port)


def split_server(server: str) -> tuple[str, int]:
    """Host and port of one entry of ``bootstrap.servers``, as librdkafka reads it: protocol and port may be absent.

    Raises:
        ValueError: see `split_address`.
    """
    address = server.strip().rpartition("://")[2]
    has_port = ":" in address.rpartition("]")[2] if address.startswith("[") else ":" in address
    return split_address(address if has_port else f"{address}:{KAFKA_PORT}")


def checked(check: Callable[[str], object], *, empty: bool = True) -> AfterValidator:
    """A validator of a text: ``check`` raises if it is wrong. ``empty``: an empty text is accepted unchecked."""

    def validate(text: str) -> str:
        try:
            if text or not empty:
                check(text)
        except InvalidInputError as error:
            raise ValueError(error.problem) from None
        return text

    return AfterValidator(validate)


def _pattern(text: str) -> None:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None


def _topic(text: str) -> None:
    if not TOPIC_NAME.fullmatch(text) or text in (".", ".."):
        raise ValueError("is not a topic name (letters, digits, '.', '_', '-'; at most 249)")
    if text in INTERNAL_TOPICS:
        raise ValueError("is an internal topic of the brokers")


def overlap(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether two addresses cannot both be listened on; port 0 is any free port, and overlaps none."""
    hosts = {one[0], other[0]}
    return one[1] == other[1] != 0 and (len(hosts) == 1 or bool(hosts & WILDCARDS) or hosts <= LOOPBACKS)


def _replicas_group(text: str) -> None:
    if not text.startswith("rebalance-agent"):
        raise ValueError("must begin with rebalance-agent, so that the group is hidden")


Text = Annotated[str, Field(max_length=TEXT_MAX)]
Address = Annotated[str, checked(split_address, empty=False), Field(max_length=TEXT_MAX)]
_PerhapsAddress = Annotated[str, checked(split_address), Field(max_length=TEXT_MAX)]
_Webhook = Annotated[str, checked(webhook_target), Field(max_length=TEXT_MAX)]
_Pattern = Annotated[str, checked(_pattern), Field(max_length=TEXT_MAX)]
_Topic = Annotated[str, checked(_topic)]
_ReplicasGroup = Annotated[str, checked(_replicas_group), Field(max_length=TEXT_MAX)]
_Declarations = Annotated[str, checked(Copartitioned.parse), Field(max_length=DECLARATIONS_TEXT_MAX)]
_KafkaProperties = Annotated[dict[str, str], BeforeValidator(kafka_properties)]


class AgentSettings(BaseSettings):
    """Settings of every role."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    kafka: _KafkaProperties = Field(
        default_factory=dict,
        repr=False,
        description="Kafka client property under librdkafka's name; KEY.file=PATH takes the value from a file",
    )
    events_topic: _Topic = Field("rebalance-events", description="topic of the published events; empty publishes none")
    events_file: Text = Field("", description="file to which events are appended as JSON lines; empty: no file")
    events_file_bytes: int = Field(
        100 * 1024 * 1024, ge=1024, le=1 << 40, description="size in bytes at which the file is rotated to .1, .2, ..."
    )
    events_file_count: int = Field(
        5, ge=1, le=1_000, description="maximum number of these files, including the current one"
    )
    events_webhook: _Webhook = Field("", repr=False, description="URL to which events are POSTed; empty: none")
    events_webhook_form: Literal["ndjson", "json"] = Field(
        "ndjson", description="format of the body: JSON lines, or one JSON list"
    )
    events_webhook_token_file: Text = Field(
        "", description="file with the bearer token for the webhook; empty: no token"
    )
    events_webhook_ca_file: Text = Field(
        "", description="PEM file with the CA certificates of the webhook; empty: the system's CAs"
    )
    events_webhook_cert_file: Text = Field(
        "", description="PEM file with the client certificate for the webhook; empty: none"
    )
    events_webhook_key_file: Text = Field(
        "", description="PEM file with the key of that certificate, unencrypted; empty: it is in the same file"
    )
    events_webhook_seconds: float = Field(
        60.0, ge=1, le=3600, description="how long a batch of events is retried before it is dropped"
    )
    listen: Address = Field(
        "0.0.0.0:29308", description="where /metrics, /healthz, /readyz, /config and the API are served"
    )
    tls_cert_file: Text = Field("", description="PEM file with the certificate of `listen`; empty: no TLS")
    tls_key_file: Text = Field("", description="PEM file with its key, unencrypted")
    tls_client_ca_file: Text = Field(
        "", description="PEM file with the CA certificates for client certificates; empty: clients need none"
    )
    web_token_file: Text = Field(
        "", description="file with the bearer token that requests must contain; empty: no token"
    )
    web_token_for_health: bool = Field(
        default=False, description="whether /healthz and /readyz also require that token"
    )
    cluster_name: str = Field("", max_length=100, description="adds the label cluster to every metric if set")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="auto: console form on a terminal, JSON lines elsewhere"
    )
    stop_seconds: float = Field(5.0, ge=0, le=300, description="maximum wait at stop until pending events are sent")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only the values that `load` has merged."""
        return (init_settings,)


class ListeningSettings(AgentSettings):
    """Settings of the roles that also take events by POST."""

    events_listen: _PerhapsAddress = Field(
        "",
        description="address at which sidecars without Kafka POST their members' events; beyond loopback it requires a "
        "token or client certificates; empty: none",
    )
    events_token_file: Text = Field(
        "", description="file with the bearer token that POSTs must contain; empty: no token"
    )
    events_tls_cert_file: Text = Field(
        "", description="PEM file with the certificate of `events_listen`; empty: no TLS"
    )
    events_tls_key_file: Text = Field("", description="PEM file with its key, unencrypted")
    events_tls_client_ca_file: Text = Field(
        "", description="PEM file with the CA certificates for client certificates; empty: senders need none"
    )

    @model_validator(mode="after")
    def _own_addresses(self) -> Self:
        if self.events_listen and overlap(split_address(self.listen), split_address(self.events_listen)):
            raise ValueError("events_listen: must not have the port of listen")
        return self


class ObserverSettings(ListeningSettings):
    """``rebalance-agent observe``."""

    groups_allow: _Pattern = Field(".*", description="regular expression of the groups to show (whole name)")
    groups_deny: _Pattern = Field(HIDDEN_GROUPS, description="regular expression of groups to hide; empty hides none")
    empty_groups_allow: _Pattern = Field(
        "",
        description="regular expression of the groups that have no members on purpose at times (whole name): scaled to "
        "zero, or run by a schedule; empty: none",
    )
    topics_allow: _Pattern = Field(".*", description="regular expression of the topics that may become labels")
    topics_deny: _Pattern = Field("", description="regular expression of the topics that may not; empty denies none")
    max_member_series: int = Field(
        100, ge=0, le=100_000, description="maximum number of series per group with a client id"
    )
    top_topics: int = Field(
        5, ge=0, le=1_000, description="maximum number of topics per group that are shown as unevenly assigned"
    )
    lag_groups: _Pattern = Field(
        "", description="regular expression of the groups whose lag and rate are measured; empty: none"
    )
    max_lag_topics: int = Field(
        5,
        ge=0,
        le=1_000,
        description="maximum number of topics per group with a lag of their own; the others are summed up in _folded",
    )
    lag_interval_seconds: float = Field(15.0, ge=0.5, le=3600, description="how often lag and rate are measured")
    copartitioned: _Declarations = Field(
        "", description="groups that read co-partitioned topics: GROUPS or GROUPS=TOPIC,TOPIC; ... (GROUPS: pattern)"
    )
    settle_seconds: float = Field(
        5.0,
        ge=0,
        le=600,
        description="how long the stall of a rebalance waits for members' own events before it is final",
    )
    list_interval_ms: int = Field(
        200, ge=20, le=60_000, description="how often rebalancing groups are listed; bounds the error of a start"
    )
    list_all_interval_seconds: float = Field(10.0, ge=0.5, le=3600, description="how often all groups are listed")
    topics_interval_seconds: float = Field(5.0, ge=0.2, le=3600, description="how often partition counts are read")
    describe_interval_seconds: float = Field(
        5.0, ge=0.2, le=3600, description="how often groups are described if the offsets topic may not be read"
    )
    replicas_group: _ReplicasGroup = Field(
        "",
        description="consumer group in which replicas share the groups; empty: this observer reports all",
    )
    state_topic: _Topic = Field(
        "rebalance-agent-state", description="compacted topic of snapshots, from which a restart continues; empty: none"
    )
    baselines_topic: _Topic = Field(
        "rebalance-baselines",
        description="compacted topic with the pipeline's baselines of each group; empty: none",
    )

    @model_validator(mode="after")
    def _own_topics(self) -> Self:
        # The snapshots' topic is compacted, which would delete events.
        if self.state_topic and self.state_topic == self.events_topic:
            raise ValueError("state_topic: must be another topic than events_topic")
        if self.baselines_topic and self.baselines_topic in (self.events_topic, self.state_topic):
            raise ValueError("baselines_topic: must be another topic than events_topic and state_topic")
        # A post reaches one replica; only the topic reaches all of them.
        if self.events_listen and self.replicas_group and not self.events_topic:
            raise ValueError("events_listen: with replicas_group it needs an events_topic")
        return self


class SidecarSettings(ListeningSettings):
    """``rebalance-agent sidecar``."""

    listen: Address = Field("0.0.0.0:29308", description="where /metrics, /healthz, /readyz and /config are served")
    events_listen: Address = Field(
        "127.0.0.1:29309",
        description="where consumers POST their events; beyond loopback it requires a token or client certificates",
    )
