"""Sinks: where events are published to (Kafka, a file, a webhook, a collector). No sink can delay or break another one.

- ``sinks``: the `Sink` Protocol and the fan-out to several sinks; ``configured_sinks``: creates the configured sinks.
- ``publisher``: to Kafka, with ``confluent_kafka``; ``split_events``: events too large for one Kafka message.
- ``queued_sink``: a bounded queue with a thread, for ``file_sink``, ``webhook_sink`` and ``trace_sink``, which
  sends spans by an exporter of ``opentelemetry`` over ``requests``.
- ``filtered_sink``: passes only some kinds and groups to the webhook; ``event_template``: its body in a custom form.
- ``pending_events``: posted events that wait until the cluster's id is known.
"""
