"""Prepares kafka-python for tests with real clients."""

import support.kafka.closed_sockets  # noqa: F401 - for its effect
