"""Consumer classes for Kafka clients: instrumented, and with the assignors of this package.

Each adapter imports only its own client. ``confluent_assignors`` is the exception: it imports ``confluent_kafka`` and
``kafka``, since each of its consumers uses both. Two other packages use a client: ``cluster`` accesses brokers with
``confluent_kafka``, ``gateway`` uses the message classes of ``kafka``.

- ``kafka_python``, ``aiokafka``: instrument the consumers of these clients, and add strategies by name.
- ``confluent_kafka``: instruments confluent-kafka's consumer, which keeps librdkafka's own assignors.
- ``confluent_assignors``: a consumer with confluent-kafka's methods that supports every strategy.
- ``confluent``: the former name of ``confluent_assignors``; ``confluent_plain``: the former name of
  ``confluent_kafka``.
- ``participant``: handles subscriptions, assignments and decisions of one consumer, for any client; ``held_copies``:
  keeps the consumer's standby copies; ``strategy_entries``: reads ``partition_assignment_strategy``.
- ``existing_consumer``: instruments a consumer that a program created with the client's own class.
- ``instrumentor``: replaces the clients' classes with instrumented classes in an unchanged program.
- ``negotiation``: computes which strategy a group selects, and explains why a member is refused.
"""
