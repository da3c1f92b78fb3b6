"""Input of the pipeline: events and records of ``__consumer_offsets``, each into the table ``events`` exactly once.

- ``ingest_events``, ``streaming``: published events, as a stream or in batches; ``backfill``, ``log_rows``: the log.
- ``event_rows``, ``decoding``, ``number_limits``: bytes to rows, or the reason for rejection.
- ``kafka_options``: Kafka client properties for Spark.
"""
