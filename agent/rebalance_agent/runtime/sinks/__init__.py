"""Publishes events to Kafka, a file, a webhook or a collector. No sink can delay or break another sink.

- ``sinks``: defines the `Sink` Protocol and the fan-out to several sinks; ``configured_sinks``: creates the sinks.
- ``publisher``: publishes to Kafka with ``confluent_kafka``; ``split_events``: splits events too large for one message.
- ``queued_sink``: queues events for a thread that passes them to ``file_sink``, ``webhook_sink`` or ``trace_sink``;
  ``trace_sink`` sends spans with an exporter of ``opentelemetry``, which uses ``requests``. ``given_up`` ends their
  pauses at stop.
- ``filtered_sink``: passes events of chosen kinds and groups to the webhook; ``event_template``: formats its body.
- ``pending_events``: keeps posted events until the cluster's id is known.
"""
