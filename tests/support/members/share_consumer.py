"""Kafka's console share consumer as a process."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager


@contextmanager
def share_consumer(kafka, group, topic):
    """A member of the share group ``group`` until the end of the block."""
    process = subprocess.Popen(
        kafka.tool_command(
            "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
            *("--bootstrap-server", kafka.bootstrap_servers, "--topic", topic, "--group", group),
        ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()
