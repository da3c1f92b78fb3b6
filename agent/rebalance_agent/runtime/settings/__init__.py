"""Every setting: flags override the environment, which overrides a file, which overrides defaults.

Secrets are never shown.

It is the only package that imports ``pydantic``, ``pydantic_core``, ``pydantic_settings`` and ``yaml``.

- ``roles``, ``generation_source``, ``gateway_settings``: the settings of each role, as pydantic models. ``text_types``:
  their texts with checks, such as addresses.
- ``settings_sources``: reads and merges the sources; ``flags``: creates the flags and their help from the models.
- ``kafka_config``: Kafka client properties, checked by ``confluent_kafka``; ``java_properties``: those of a Java
  client; ``broker_tls``: TLS of the gateway.
- ``webhook_target``: the webhook's URL. ``listener_security``: TLS contexts and tokens of listeners and the webhook.
- ``rights``: the Kafka permissions that a role needs with its settings.
- ``redacted``: settings without secrets, for /config.
"""
