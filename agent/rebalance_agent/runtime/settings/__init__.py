"""Reads every setting: flags override the environment, which overrides a file, which overrides defaults.

Secrets are never shown.

Only this package imports ``pydantic``, ``pydantic_core``, ``pydantic_settings`` and ``yaml``.

- ``roles``, ``generation_source``, ``gateway_settings``: define each role's settings as pydantic models.
  ``text_types``: defines the types of text settings, with their checks; ``agent_ports``: the default ports.
- ``settings_sources``: reads and merges the sources; ``flags``: creates the flags and their help from the models.
- ``kafka_config``: reads Kafka client properties, which ``confluent_kafka`` checks; ``java_properties``: translates a
  Java client's properties; ``broker_tls``: creates the gateway's TLS context for brokers.
- ``webhook_target``: parses the webhook's URL. ``listener_security``: creates TLS contexts and reads tokens.
- ``rights``: lists the Kafka permissions that a role needs with its settings.
- ``redacted``: returns the settings without secrets, for /config.
"""
