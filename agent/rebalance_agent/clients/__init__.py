"""Consumer classes for Kafka clients: instrumented, and with the assignors of this package.

Each adapter imports only its own client. ``confluent_assignors`` is the exception: it imports ``confluent_kafka`` and
``kafka``, since each of its consumers uses both. Two other packages use a client: ``cluster`` accesses brokers with
``confluent_kafka``, ``gateway`` uses the message classes of ``kafka``.

- ``kafka_python``, ``aiokafka``: their consumers, instrumented, with strategies by name.
- ``confluent_kafka``: confluent-kafka's consumer with librdkafka's own assignors, instrumented.
- ``confluent_assignors``: a consumer with confluent-kafka's methods that supports every strategy.
- ``confluent``, ``confluent_plain``: former names of the last two.
- ``participant``: subscriptions, assignments and decisions of one consumer, for any client; ``held_copies``: its
  standby copies; ``strategy_entries``: its ``partition_assignment_strategy``.
- ``existing_consumer``: instruments a consumer that a program created with the client's own class.
- ``instrumentor``: replaces the clients' classes by instrumented ones in an unchanged program.
- ``negotiation``: computes which strategy a group selects, and explains why a member is refused.
"""
