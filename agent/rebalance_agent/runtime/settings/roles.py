"""Settings of the observer and the sidecar as pydantic models.

The models are the only list of settings: flags, ``--help``, environment names and the tables in ``docs/`` are made from
them. An address is one setting ``host:port``, because Kubernetes itself sets ``<SERVICE>_PORT`` variables and would
overwrite a setting with that name.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from rebalance_agent.http.events_post import EVENTS_PORT
from rebalance_agent.runtime.settings.agent_ports import WEB_PORT
from rebalance_agent.runtime.settings.generation_source import GenerationSource
from rebalance_agent.runtime.settings.kafka_config import KafkaProperties
from rebalance_agent.runtime.settings.text_types import (
    Declarations,
    EventKinds,
    EventsAddress,
    GroupLimits,
    HostRules,
    OptionalEventsAddress,
    Pattern,
    Text,
    Topic,
    WebAddress,
    Webhook,
    overlap,
    split_address,
)

__all__ = [
    "ENV_PREFIX",
    "HIDDEN_GROUPS",
    "AgentSettings",
    "ListeningSettings",
    "ObserverSettings",
    "SidecarSettings",
]

ENV_PREFIX = "REBALANCE_AGENT_"

LISTEN = f"127.0.0.1:{WEB_PORT}"
"""Default of ``listen``: loopback, because any machine that can connect can read the clients and hosts on the page."""

HIDDEN_GROUPS = r"__.*|_confluent.*|rebalance-agent.*|console-consumer-\d+"
"""Default of ``groups_deny``: matches internal groups, the agent's groups and the groups of console consumers."""


class AgentSettings(BaseSettings):
    """Settings of every role."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    kafka: KafkaProperties = Field(
        default_factory=dict,
        repr=False,
        description="Kafka client property with librdkafka's name; KEY.file=PATH reads the value from a file",
    )
    kafka_config: Text = Field(
        "",
        description="client.properties of a Java client, whose servers, TLS and login are used; `kafka` overrides them",
    )
    events_topic: Topic = Field("rebalance-events", description="topic to which events are published; empty: none")
    events_file: Text = Field("", description="file to which events are appended as JSON lines; empty: no file")
    events_file_bytes: int = Field(
        100 * 1024 * 1024, ge=1024, le=1 << 40, description="size in bytes at which the file is rotated to .1, .2, ..."
    )
    events_file_count: int = Field(
        5, ge=1, le=1_000, description="maximum number of event files, including the current file"
    )
    events_webhook: Webhook = Field("", repr=False, description="URL to which events are POSTed; empty: none")
    events_webhook_form: Literal["ndjson", "json"] = Field(
        "ndjson", description="format of the body: ndjson: JSON lines; json: one JSON array"
    )
    events_webhook_kinds: EventKinds = Field(
        "", description='kinds of events that are POSTed, separated by spaces, such as "generation aborted"; empty: all'
    )
    events_webhook_groups: Pattern = Field(
        ".*", description="regular expression for the whole names of the groups whose events are POSTed"
    )
    events_webhook_template_file: Text = Field(
        "",
        description="JSON template with placeholders such as ${group}: each event is POSTed separately, in this form; "
        "empty: events are POSTed unchanged",
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
        "", description="PEM file with the unencrypted key of that certificate; empty: the certificate's file has it"
    )
    events_webhook_seconds: float = Field(
        60.0, ge=1, le=3600, description="how long the agent tries to send a batch of events before dropping it"
    )
    listen: WebAddress = Field(
        LISTEN,
        description="address of /metrics, /healthz, /readyz, /config and the API; 0.0.0.0:29308: all interfaces",
    )
    tls_cert_file: Text = Field("", description="PEM file with the certificate of `listen`; empty: no TLS")
    tls_key_file: Text = Field("", description="PEM file with the key of `tls_cert_file`, unencrypted")
    tls_client_ca_file: Text = Field(
        "", description="PEM file with the CA certificates for client certificates; empty: clients need no certificate"
    )
    web_token_file: Text = Field(
        "", description="file with the bearer token that requests must contain; empty: no token"
    )
    web_token_for_health: bool = Field(
        default=False, description="whether /healthz and /readyz also require the token of `web_token_file`"
    )
    cluster_name: str = Field("", max_length=100, description="label `cluster` of every metric; empty: no such label")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="auto: console form on a terminal, JSON lines elsewhere"
    )
    stop_seconds: float = Field(5.0, ge=0, le=300, description="how long to wait at shutdown to send pending events")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the values that `load` has merged."""
        return (init_settings,)

    @property
    def published_topic(self) -> str:
        """The topic to which this role publishes events; empty if it publishes none."""
        return self.events_topic


class ListeningSettings(AgentSettings):
    """Settings of the roles that also accept events by POST."""

    events_listen: OptionalEventsAddress = Field(
        "",
        description="address at which sidecars without Kafka POST their members' events; beyond loopback, it requires "
        "a token or client certificates; empty: none",
    )
    events_token_file: Text = Field(
        "", description="file with the bearer token that POSTs must contain; empty: no token"
    )
    events_tls_cert_file: Text = Field(
        "", description="PEM file with the certificate of `events_listen`; empty: no TLS"
    )
    events_tls_key_file: Text = Field("", description="PEM file with the key of `events_tls_cert_file`, unencrypted")
    events_tls_client_ca_file: Text = Field(
        "", description="PEM file with the CA certificates for client certificates; empty: senders need no certificate"
    )

    @model_validator(mode="after")
    def _own_addresses(self) -> Self:
        if self.events_listen and overlap(split_address(self.listen), split_address(self.events_listen)):
            raise ValueError("events_listen: must not use the same port as listen")
        return self


class ObserverSettings(GenerationSource, ListeningSettings):
    """``rebalance-agent observe``."""

    idle: bool = Field(
        default=False,
        description="without bootstrap servers, start and be ready without observing anything, instead of failing",
    )
    read_only: bool = Field(
        default=False,
        description="create no topic and write no record: no events in events_topic, no snapshots in state_topic",
    )
    groups_allow: Pattern = Field(".*", description="regular expression for the whole names of the groups to show")
    groups_deny: Pattern = Field(
        HIDDEN_GROUPS,
        description="regular expression for the whole names of groups to hide, as well as `rebalance-agent.seats.*`",
    )
    empty_groups_allow: Pattern = Field(
        "",
        description="regular expression for the whole names of groups that may have no members, because they scale to "
        "zero or run on a schedule; empty: none",
    )
    topics_allow: Pattern = Field(".*", description="regular expression for the topics shown as label values")
    topics_deny: Pattern = Field(
        "", description="regular expression for the topics not shown as label values; empty: none"
    )
    max_member_series: int = Field(
        100, ge=0, le=100_000, description="maximum number of series with a client id for each group"
    )
    max_topic_series: int = Field(
        0,
        ge=0,
        le=10_000,
        description="maximum number of topics per group that have separate series for members and partitions; the "
        "other topics are combined in the topic `_folded`; 0: no such series",
    )
    top_topics: int = Field(
        5, ge=0, le=1_000, description="maximum number of unevenly assigned topics per group that have series"
    )
    lag_groups: Pattern = Field(
        "", description="regular expression for the groups whose lag and rate are measured; empty: none"
    )
    max_metrics_bytes: int = Field(
        10**8, ge=10**6, le=10**10, description="maximum bytes of groups' series; above it, the largest have no series"
    )
    max_state_bytes: int = Field(
        160_000_000,
        ge=10**7,
        le=10**10,
        description="maximum bytes of the states of all groups; above it, new groups are shown without rebalances",
    )
    max_lag_topics: int = Field(
        5, ge=0, le=1_000, description="maximum number of topics per group with lag series; `_folded` sums the others"
    )
    lag_interval_seconds: float = Field(15.0, ge=0.5, le=3600, description="time between measurements of lag and rate")
    copartitioned: Declarations = Field(
        "", description="groups that read co-partitioned topics: GROUPS or GROUPS=TOPIC,TOPIC; ... (GROUPS: pattern)"
    )
    stall_limits: GroupLimits = Field(
        "",
        description="limits for groups' stalls: GROUPS=SHARE,WARNING_SECONDS,CRITICAL_SECONDS; ... (GROUPS: pattern, "
        "SHARE: stalled partitions / all partitions); the first match applies, or 0.5,30,90 if none matches",
    )
    host_names: HostRules = Field(
        "",
        description="rules that determine a member's host: GROUPS=RULE; ... (GROUPS: pattern); RULE is address, pod, "
        "node (sidecars report pods and nodes), or a regular expression for client ids, whose first capture group is "
        "the host; the first match applies, and groups without a match use address",
    )
    settle_seconds: float = Field(
        5.0, ge=0, le=600, description="how long to wait for members' reports before a rebalance's cost is published"
    )
    list_interval_ms: int = Field(
        200,
        ge=20,
        le=60_000,
        description="time between polls of rebalancing groups; a rebalance's start can be wrong by this time",
    )
    list_all_interval_seconds: float = Field(10.0, ge=0.5, le=3600, description="time between polls of all groups")
    topics_interval_seconds: float = Field(5.0, ge=0.2, le=3600, description="time between reads of partition counts")
    describe_interval_seconds: float = Field(
        5.0, ge=0.2, le=3600, description="time between descriptions of groups if the offsets topic is not readable"
    )
    state_topic: Topic = Field(
        "rebalance-agent-state", description="compacted topic of snapshots, from which a restart continues; empty: none"
    )
    baselines_topic: Topic = Field(
        "rebalance-baselines",
        description="compacted topic with the pipeline's baselines of each group; empty: none",
    )

    @property
    def published_topic(self) -> str:
        """The topic to which events are published; empty with ``read_only``, but members' events are still read."""
        return "" if self.read_only else self.events_topic

    @property
    def snapshots_topic(self) -> str:
        """The topic of snapshots; empty if no snapshots are kept."""
        return "" if self.read_only or not self.reads_log else self.state_topic

    @model_validator(mode="after")
    def _own_topics(self) -> Self:
        # The snapshots' topic is compacted, which would delete events.
        if self.state_topic and self.state_topic == self.events_topic:
            raise ValueError("state_topic: must be another topic than events_topic")
        if self.baselines_topic and self.baselines_topic in (self.events_topic, self.state_topic):
            raise ValueError("baselines_topic: must be another topic than events_topic and state_topic")
        # A post reaches one replica; only the topic reaches all of them.
        if self.events_listen and self.replicas_group and not self.published_topic:
            raise ValueError("events_listen: with replicas_group, events_topic must be set and read_only must not")
        return self


class SidecarSettings(ListeningSettings):
    """``rebalance-agent sidecar``."""

    listen: WebAddress = Field(
        LISTEN,
        description="address of /metrics, /healthz, /readyz and /config; 0.0.0.0:29308: all interfaces",
    )
    events_listen: EventsAddress = Field(
        f"127.0.0.1:{EVENTS_PORT}",
        description="address where consumers POST events; beyond loopback, it requires a token or client certificates",
    )
