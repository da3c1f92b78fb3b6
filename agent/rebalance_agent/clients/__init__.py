"""Adapters to Kafka's Python clients for consumers: one package for each client, which imports that client alone.

``confluent_assignors`` is the exception: it imports ``confluent_kafka`` and ``kafka``, since each of its consumers is
both. What the adapters share is in ``instrumentation``; an adapter translates a client's own words and adds nothing of
its own. Other packages use a client for themselves: ``cluster`` reads and asks with ``confluent_kafka``, ``gateway``
takes its message classes from ``kafka``.
"""
