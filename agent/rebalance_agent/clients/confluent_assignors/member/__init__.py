"""The group member behind confluent-kafka's consumer: kafka-python in a thread of its own, which fetches nothing."""
