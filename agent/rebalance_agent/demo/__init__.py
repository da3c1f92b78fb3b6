"""The demo: real groups of real consumer processes on an embedded Kafka, with the agent beside them.

It uses the product as users do: an observer and a sidecar process, flags, ``/metrics`` over HTTP, ``rebalance-events``.
Its members are consumers of ``kafka`` and ``confluent_kafka``. Only the command line imports it.

- ``stories``: topics, groups and timetable, as data; ``stage``, ``performance``, ``timetable``: run them.
- ``processes``: members, producer and gateways; ``observed``: what the agent and the coordinator say; ``screens``.
"""
