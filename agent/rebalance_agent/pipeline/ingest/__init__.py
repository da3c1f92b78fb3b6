"""The pipeline's input: writes published events and ``__consumer_offsets`` records to ``events``, each exactly once.

- ``ingest_events``, ``streaming``: read published events from a topic (as a stream or a batch) or from files.
- ``backfill``, ``log_rows``: read records of ``__consumer_offsets`` and replay them into events.
- ``file_lines``: reads lines of local files, each up to a maximum length.
- ``event_rows``, ``decoding``: convert bytes to rows, or return the reason for a rejection.
- ``number_limits``, ``event_times``: bounds for an event's numbers and times.

This package does not aggregate events; ``tables`` does.
"""
