"""``python -m rebalance_agent.testing``: start a Kafka without topics, print its address, and run until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading

from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.testing import EmbeddedKafka

__all__ = ["main"]


def main() -> int:
    """Run the brokers; return 0 after Ctrl-C or SIGTERM, and 1 if they cannot start."""
    parser = argparse.ArgumentParser(prog="python -m rebalance_agent.testing", description=__doc__)
    parser.add_argument("--brokers", type=int, default=1, metavar="N", help="number of brokers (default 1)")
    parser.add_argument("--kafka-version", metavar="VERSION", help="version, such as 4.3.0 (default: the newest)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with EmbeddedKafka(options.brokers, version=options.kafka_version) as kafka:
            sys.stdout.write(f"Kafka {kafka.version} is ready at {kafka.bootstrap_servers}. Press Ctrl-C to stop it.\n")
            sys.stdout.flush()
            with contextlib.suppress(KeyboardInterrupt):  # an exception here would keep the brokers' logs
                threading.Event().wait()
    except RebalanceAgentError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
