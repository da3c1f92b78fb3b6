"""What every test with real clients needs."""

import support.kafka.closed_sockets  # noqa: F401 - for what it mends
