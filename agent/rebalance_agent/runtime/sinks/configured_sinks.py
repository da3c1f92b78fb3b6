"""Creates the configured sinks: Kafka, a file, a webhook, traces over OTLP."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.agent_topics import create_topic
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.runtime.otlp.otlp_environment import otlp_signals
from rebalance_agent.runtime.settings.listener_security import token_file, webhook_tls
from rebalance_agent.runtime.settings.roles import AgentSettings
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.runtime.sinks.event_template import EventTemplate, TemplatedWebhook
from rebalance_agent.runtime.sinks.file_sink import EventsFile
from rebalance_agent.runtime.sinks.filtered_sink import FilteredSink
from rebalance_agent.runtime.sinks.publisher import EVENTS_PARTITIONS, Publisher
from rebalance_agent.runtime.sinks.queued_sink import QueuedSink
from rebalance_agent.runtime.sinks.sinks import Sink, SinkFanout
from rebalance_agent.runtime.sinks.webhook_sink import Webhook

__all__ = ["FILE", "KAFKA", "OTLP", "WEBHOOK", "SinkSet", "configured_webhook"]

# Names of the sinks, in metrics and logs.
KAFKA = "kafka"
FILE = "file"
WEBHOOK = "webhook"
OTLP = "otlp"


class SinkSet:
    """The sinks of one process. Invalid settings are refused at once; Kafka is added when the cluster is known.

    ``publisher``: the Kafka sink; None before the cluster is known, or if events are not published to Kafka.
    """

    def __init__(self, settings: AgentSettings, counts: AgentMetrics, clock: Clock) -> None:
        """Open the file and check the webhook's settings; nothing is sent yet.

        Raises:
            InvalidInputError: naming the setting that cannot be used.
        """
        self._settings, self._counts = settings, counts
        self.publisher: Publisher | None = None
        self._open: list[tuple[str, Sink]] = []
        self._local: list[tuple[str, Sink]] = []
        if settings.events_webhook:
            webhook = QueuedSink(WEBHOOK, configured_webhook(settings, clock), counts)
            kinds = settings.events_webhook_kinds.split()
            self._local.append((WEBHOOK, FilteredSink(webhook, kinds, settings.events_webhook_groups)))
        if settings.events_file:
            file = EventsFile(settings.events_file, settings.events_file_bytes, settings.events_file_count)
            self._local.append((FILE, QueuedSink(FILE, file, counts)))
        if otlp_signals().traces:
            from rebalance_agent.runtime.sinks.trace_sink import TraceSink  # noqa: PLC0415 - the SDK is an extra

            self._local.append((OTLP, QueuedSink(OTLP, TraceSink(), counts)))

    @property
    def local(self) -> bool:
        """Whether there is a sink besides Kafka."""
        return bool(self._local)

    def open(self, stack: ExitStack) -> SinkFanout:
        """Start the sinks that need no cluster; ``stack`` closes all sinks together, within ``stop_seconds``."""
        stack.callback(self._close)
        return self._started(self._local)

    def connect(self, properties: Mapping[str, str], cluster: Cluster) -> SinkFanout:
        """Start the Kafka sink if events are published to a topic; create the topic if it is missing.

        Raises:
            InvalidInputError: ``properties`` do not allow an idempotent producer.
        """
        topic = self._settings.published_topic
        if not topic:
            return self._started([])
        create_topic(cluster, topic, EVENTS_PARTITIONS, {}, "events are not published until it exists")
        self.publisher = Publisher(
            properties,
            topic,
            published=lambda kind: self._counts.events_published(kind, KAFKA),
            dropped=lambda number: self._counts.events_dropped(KAFKA, number),
        )
        return self._started([(KAFKA, self.publisher)])

    def _started(self, sinks: list[tuple[str, Sink]]) -> SinkFanout:
        fanout = SinkFanout(sinks, self._counts.events_dropped)
        fanout.start()
        self._open += sinks
        return fanout

    def _close(self) -> None:
        SinkFanout(self._open, self._counts.events_dropped).close(self._settings.stop_seconds)


def configured_webhook(settings: AgentSettings, clock: Clock) -> Webhook | TemplatedWebhook:
    """Return the target of the webhook's sink.

    Raises:
        InvalidInputError: naming the setting that cannot be used.
    """
    token = settings.events_webhook_token_file
    template = settings.events_webhook_template_file
    webhook = Webhook(
        webhook_target(settings.events_webhook),
        clock,
        form="object" if template else settings.events_webhook_form,
        token=token_file("events_webhook_token_file", token, clock).get if token else None,
        context=webhook_tls(settings, clock).get,
        seconds=settings.events_webhook_seconds,
    )
    if not template:
        return webhook
    return TemplatedWebhook(webhook, EventTemplate.read("events_webhook_template_file", template))
