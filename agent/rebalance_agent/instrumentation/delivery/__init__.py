"""Delivers a process's events to its sidecar and its application, in the background: the consumer never waits.

- ``reporter``: numbers a consumer's events, and passes them to both deliveries.
- ``queue_thread``: a bounded queue (``outbox``) with a daemon thread. ``post_thread`` posts to the sidecar, through
  ``endpoint``, until its ``post_deadline``, and requires a ``whole_response``. ``event_callback`` calls the
  application's ``on_event``.
- ``heartbeat``: reports processes without events.

The content of reports is in ``event_builder``, the TLS of the posts in ``client_tls``.
"""
