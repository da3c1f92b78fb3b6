"""The embedded Kafka: Apache Kafka (KRaft) brokers as guarded Java processes on loopback."""
