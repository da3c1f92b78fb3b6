"""Where events go: any number of sinks (Kafka, file, webhook). No sink can delay or break another one.

``publisher`` writes to Kafka with ``confluent_kafka``.
"""
