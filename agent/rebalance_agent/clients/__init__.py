"""Consumer classes for Kafka clients: instrumented, and with the assignors of this package.

Each adapter imports its own client alone. ``confluent_assignors`` is the exception: it imports ``confluent_kafka`` and
``kafka``, since each of its consumers is both. Other packages use a client for themselves: ``cluster`` reads and asks
with ``confluent_kafka``, ``gateway`` takes its message classes from ``kafka``.

- ``kafka_python``, ``aiokafka``: their consumers, instrumented, with strategies by name.
- ``confluent_kafka``: confluent-kafka's consumer with librdkafka's own assignors, instrumented.
- ``confluent_assignors``: a consumer with confluent-kafka's methods that takes every strategy.
- ``confluent``, ``confluent_plain``: former names of the last two.
- ``participant``: subscriptions, assignments and decisions of one consumer, for any client; ``held_copies``: its
  standby copies; ``strategy_entries``: its ``partition_assignment_strategy``.
- ``existing_consumer``: lets a consumer report that a program has made with the client's own class.
- ``instrumentor``: replaces the clients' classes by the instrumented ones, in a program that is not changed.
- ``negotiation``: which strategy a group selects, and why a member is refused.
"""
