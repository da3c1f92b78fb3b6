"""Sinks: where events are published to (Kafka, a file, a webhook, a collector). No sink can delay or break another one.

- ``sinks``: the `Sink` Protocol and the fan-out to several sinks; ``configured_sinks``: those of the settings.
- ``publisher``: to Kafka, with ``confluent_kafka``; ``split_events``: events too large for one Kafka message.
- ``queued_sink``: a bounded queue with a thread, for ``file_sink``, ``webhook_sink`` and ``trace_sink``, which
  sends spans by an exporter of ``opentelemetry`` over ``requests``.
- ``filtered_sink``: some kinds and groups for the webhook; ``event_template``: its body in another form.
- ``pending_events``: posted events that wait until the cluster's id is known.
"""
