"""Divides one confluent-kafka configuration into settings of kafka-python and of librdkafka.

- ``client_settings``: the division; ``security``, ``oauth``: TLS and SASL. Untranslatable settings are refused by name.
- ``config_values``: reads single values; ``subscribed_topics``: the arguments of ``subscribe``.
"""
