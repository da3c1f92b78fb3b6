"""Fixtures of all tests with real clients."""

import support.kafka.closed_sockets
import support.members.message_classes  # noqa: F401 - for its effect
