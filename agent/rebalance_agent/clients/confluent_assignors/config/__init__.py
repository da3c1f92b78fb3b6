"""One confluent-kafka configuration, divided: what the member needs in kafka-python's names, what librdkafka keeps."""
