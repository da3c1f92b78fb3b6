"""Settings: flags > environment > file > defaults. Every name is checked; secrets are never shown.

The only package that imports ``pydantic``, ``pydantic_core``, ``pydantic_settings`` and ``yaml``. ``kafka_config`` has
``confluent_kafka`` check the Kafka client properties.
"""
