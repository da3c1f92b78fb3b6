"""Sinks publish events to Kafka, a file, a webhook or a collector. No sink can delay or break another one.

- ``sinks``: the `Sink` Protocol and the fan-out to several sinks; ``configured_sinks``: creates the configured sinks.
- ``publisher``: publishes to Kafka with ``confluent_kafka``; ``split_events``: splits events too large for one message.
- ``queued_sink``: a bounded queue with a thread, for ``file_sink``, ``webhook_sink`` and ``trace_sink``, which
  sends spans by an exporter of ``opentelemetry`` over ``requests``.
- ``filtered_sink``: passes only some kinds and groups to the webhook; ``event_template``: formats the webhook's body.
- ``pending_events``: keeps posted events until the cluster's id is known.
"""
