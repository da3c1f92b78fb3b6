"""Divides one confluent-kafka configuration into settings of kafka-python and of librdkafka.

- ``client_settings``: divides the configuration, and refuses untranslatable settings by name; ``security``: translates
  the settings of TLS and SASL; ``oauth``: calls ``oauth_cb``.
- ``config_values``: reads single values; ``subscribed_topics``: reads the topics and patterns in the arguments of
  ``subscribe``.
"""
