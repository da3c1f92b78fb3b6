"""Runs one broker of the embedded cluster: its files, process and log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka import broker_ready
from rebalance_agent.testing.kafka.broker_settings import HOST, BrokerNode, meta_properties, render
from rebalance_agent.testing.kafka.java import JavaRuntime
from rebalance_agent.testing.kafka.java_process import GuardedProcess, java_environment
from rebalance_agent.testing.kafka.kafka_versions import BootstrapCheckpoint

__all__ = ["Broker"]

LOG_TAIL_LINES = 25
"""Number of lines of a broker's log that an error quotes."""

_LOG_TAIL_BYTES = 1 << 16
_BIND_CLASH = "Address already in use"
_PROBE_GROUP = "embedded-kafka-ready"


class Broker:
    """A broker of the embedded cluster, running or stopped."""

    def __init__(self, node: BrokerNode, log_path: Path) -> None:
        """Describe the broker; no file is written and no process started."""
        self.node = node
        self.log_path = log_path
        self._process: GuardedProcess | None = None
        self._log_start = 0
        self._cluster_id = ""

    @property
    def address(self) -> str:
        """The broker's ``host:port`` for clients."""
        return f"{HOST}:{self.node.port}"

    @property
    def running(self) -> bool:
        """Whether the Java process runs; the broker may not answer yet."""
        return self._process is not None and not self._process.exited.is_set()

    @property
    def process(self) -> GuardedProcess:
        """The process, running or ended. Raises BrokerError if it was never started."""
        if self._process is None:
            msg = f"broker {self.node.node_id} was never started"
            raise BrokerError(msg)
        return self._process

    def format(self, cluster_id: str, checkpoint: BootstrapCheckpoint, properties: Mapping[str, str]) -> None:
        """Write the files of ``kafka-storage format``, and ``server.properties``."""
        directory = self.node.directory
        self._cluster_id = cluster_id
        (directory / "data").mkdir(parents=True)
        (directory / "data" / "meta.properties").write_text(render(meta_properties(cluster_id, self.node.node_id)))
        checkpoint.write(directory / "data", controller="controller" in properties["process.roles"])
        (directory / "server.properties").write_text(render(properties), encoding="ascii")

    def launch(self, runtime: JavaRuntime, flags: Sequence[str], remove: Sequence[Path]) -> None:
        """Start the process; `answers` returns whether it is ready."""
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
        config = str(self.node.directory / "server.properties")
        command = runtime.command("kafka.Kafka", config, flags=flags)
        self._process = GuardedProcess(command, self.log_path, java_environment(), remove)

    def answers(self, expected: frozenset[int]) -> bool:
        """Return whether the broker answers and reports exactly the ``expected`` node ids as live.

        Raises:
            BrokerError: the process has ended; the text has the log's path and its last lines.

        """
        if not self.running:
            raise BrokerError(self.failure(f"ended with exit code {self.process.exit_code} before it answered"))
        try:
            # The id distinguishes this cluster from another cluster that took the port while this broker was starting.
            return broker_ready.live_brokers(HOST, self.node.port) == (self._cluster_id, expected)
        except OSError:
            return False

    def has_coordinator(self) -> bool:
        """Return whether the broker finds a group coordinator, for which ``__consumer_offsets`` must exist."""
        try:
            return broker_ready.coordinator_ready(HOST, self.node.port, _PROBE_GROUP)
        except OSError:
            return False

    def bind_clashed(self) -> bool:
        """Return whether the last start failed because another process has one of the broker's ports."""
        return not self.running and _BIND_CLASH in self._log_of_last_start()

    def failure(self, what: str) -> str:
        """Return the text of an error: what happened to this broker, its log's path, and the log's last lines."""
        tail = "\n".join(f"    {line}" for line in self._log_of_last_start().splitlines()[-LOG_TAIL_LINES:])
        return f"broker {self.node.node_id} {what}. Its log is {self.log_path}, and ends:\n{tail or '    (empty)'}"

    def log_bytes(self) -> int:
        """Return the size of the log, which grows while a process still starts."""
        try:
            return self.log_path.stat().st_size
        except FileNotFoundError:
            return 0

    def _log_of_last_start(self) -> str:
        try:
            with self.log_path.open("rb") as log:
                size = log.seek(0, 2)
                log.seek(max(self._log_start, size - _LOG_TAIL_BYTES))
                return log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
