"""`EmbeddedKafka`: an Apache Kafka cluster for the length of a ``with`` block."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.broker import Broker
from rebalance_agent.testing.kafka.broker_settings import HOST
from rebalance_agent.testing.kafka.broker_start import BrokerStart, kill_all
from rebalance_agent.testing.kafka.java import JavaRuntime, java_runtime
from rebalance_agent.testing.kafka.java_tool import run_java
from rebalance_agent.testing.kafka.kafka_versions import kafka_version
from rebalance_agent.testing.kafka.layout import Layout
from rebalance_agent.testing.kafka.listeners import Listener
from rebalance_agent.testing.kafka.scram import store_scram_users

__all__ = ["EmbeddedKafka"]

HEAP = "-Xmx512m"
"""Default heap of a broker."""

TOOL_FLAGS = ("-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
"""Java flags of Kafka's command line tools."""

START_ATTEMPTS_MAX = 3
"""Maximum number of attempts to start after port conflicts. They are rare: three in a row have another cause."""

STOP_TIMEOUT_S = 30.0
"""Default time limit, in seconds, for a clean stop of one broker."""


class EmbeddedKafka:
    """Apache Kafka (KRaft) of one or several brokers on the loopback interface.

    ``with EmbeddedKafka() as kafka`` returns when the cluster answers; leaving the block ends every process and deletes
    the data. The brokers also end with this process, however it ends. Not thread-safe.

    The first broker, or the first three of three or more, are controllers, too. A majority of them has to run.
    """

    def __init__(
        self,
        brokers: int = 1,
        properties: Mapping[str, str] | None = None,
        directory: Path | str | None = None,
        startup_timeout: float = 60.0,
        *,
        listeners: Mapping[str, Listener] | None = None,
        authorizer: bool = False,
        racks: Sequence[str] = (),
        jvm_flags: Sequence[str] = (),
        class_path: Sequence[Path | str] = (),
        offsets_topic: bool = True,
        keep_logs: bool = False,
        version: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Describe the cluster; `start` runs it.

        Args:
            brokers: number of brokers, 1 to 9; node ids are 1, 2, ...
            properties: server properties for every broker, in addition to the defaults.
            directory: directory of the brokers' files; it has to be empty or absent, and is kept at the end. By
                default a temporary directory, which is deleted at the end.
            startup_timeout: seconds that `start` and `start_broker` wait for brokers (downloads not included).
            listeners: secured listeners by name, besides the plain one; `address` has their ports.
            authorizer: use Kafka's authorizer (KIP-801). Principals of secured listeners have the permissions of
                their ACLs; clients of the plain listener have all permissions.
            racks: ``broker.rack`` of each broker in the order of their ids; none by default.
            jvm_flags: Java flags that follow the defaults, so that ``-Xmx1g`` replaces 512 MB.
            class_path: jars and folders with classes that the brokers load besides Kafka's, such as a callback handler.
            offsets_topic: whether to wait until ``__consumer_offsets`` exists and has a coordinator.
            keep_logs: keep the logs of a temporary directory at the end. They are always kept if the block fails.
            version: Kafka's version, for example "4.4" or "4.4.0"; by default the one in the environment variable
                ``REBALANCE_AGENT_KAFKA_VERSION``, else 4.4.0. Versions before 4.3 have no Java tools.
            clock: clock of the timeouts.

        Raises:
            BrokerError: a wrong number of brokers or racks, invalid listeners, or no version that can be embedded.
        """
        self._version, self._plugins = kafka_version(version), tuple(map(Path, class_path))
        self._layout = Layout(
            brokers,
            dict(properties or {}),
            dict(listeners or {}),
            authorizer,
            tuple(racks),
            Path(directory).absolute() if directory is not None else None,
        )
        self.keep_logs = keep_logs
        self._starting = BrokerStart(
            (HEAP, *jvm_flags),
            temporary=directory is None,
            offsets_topic=offsets_topic,
            timeout_s=startup_timeout,
            clock=clock if clock is not None else SystemClock(),
        )
        self._root: Path | None = None
        self._brokers: dict[int, Broker] = {}
        self._owner = 0

    def __enter__(self) -> Self:
        """Start the cluster."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the cluster; after an exception the logs are kept, and the exception gets a note with their path."""
        root = self._root
        if error is not None:
            self.keep_logs = True
        self.stop()
        if error is not None and root is not None:
            error.add_note(f"the brokers' logs are kept in {root}")

    # -- the cluster -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all brokers and wait until each answers and reports all others as live.

        Raises:
            ArtifactError: Kafka or Java is missing and cannot be downloaded.
            BrokerError: a broker ended or did not answer in time (the logs are kept), or the cluster runs already.

        """
        if self._brokers:
            raise BrokerError("this EmbeddedKafka is already started")
        checkpoint = self._runtime.bootstrap_checkpoint()
        self._root = self._layout.make_root()
        self._owner = os.getpid()
        atexit.register(self.stop)
        try:
            for attempt in range(1, START_ATTEMPTS_MAX + 1):
                self._brokers = self._layout.write(self._root, checkpoint)
                try:
                    self._starting.launch(self._brokers.values(), self._brokers, self._runtime)
                    store_scram_users(self.bootstrap_servers, self._layout.listeners.values())
                    self._starting.build_archive(self._brokers[1], self._runtime)
                    break
                except BrokerError:
                    clashed = any(broker.bind_clashed() for broker in self._brokers.values())
                    if not clashed or attempt == START_ATTEMPTS_MAX:
                        raise
                    kill_all(self._brokers.values())
        except BaseException:
            self.keep_logs = True
            self.stop()
            raise

    def stop(self) -> None:
        """Kill every broker (SIGKILL) and delete their files. No effect if not started."""
        if self._root is None or self._owner != os.getpid():
            return  # this is a copy in a forked child, which does not own the cluster
        kill_all(self._brokers.values())
        if self._layout.directory is None:
            for broker in self._brokers.values():
                shutil.rmtree(broker.node.directory, ignore_errors=True)
            if not self.keep_logs:
                shutil.rmtree(self._root, ignore_errors=True)
        self._brokers = {}
        self._root = None
        atexit.unregister(self.stop)

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker, running or not, joined by commas."""
        return ",".join(broker.address for broker in self._started().values())

    def address(self, listener: str, *, behind: bool = False) -> str:
        """Return the advertised ``host:port`` of a secured listener of every broker, joined by commas.

        ``behind``: the port on which a fronted listener listens, instead of the advertised one.

        Raises:
            BrokerError: the cluster is not started, or has no such listener.
        """
        brokers = self._started().values()
        names = self._layout.listeners
        if listener not in names:
            raise BrokerError(f"there is no listener {listener}, only {', '.join(names) or 'the plain one'}")
        ports = ({**broker.node.ports, **({} if behind else broker.node.fronts)}[listener] for broker in brokers)
        return ",".join(f"{HOST}:{port}" for port in ports)

    @property
    def version(self) -> str:
        """Number of Kafka's version, for example 4.3.0."""
        return self._version.number

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Node ids of all brokers, running or not."""
        return tuple(self._started())

    @property
    def directory(self) -> Path:
        """The directory of brokers and logs. Raises BrokerError if not started."""
        return next(iter(self._started().values())).log_path.parent

    # -- one broker --------------------------------------------------------------------------------------------

    def stop_broker(self, node_id: int, timeout: float = STOP_TIMEOUT_S) -> None:
        """Stop one broker cleanly (SIGTERM): it hands over its leaderships and leaves the cluster.

        Raises:
            BrokerError: it does not run, or did not end within ``timeout`` seconds and was killed.

        """
        process = self._running(node_id).process
        process.terminate()
        if not process.exited.wait(timeout):
            process.kill()
            raise BrokerError(self._broker(node_id).failure(f"did not stop within {timeout:g} s and was killed"))

    def kill_broker(self, node_id: int) -> None:
        """Kill one broker (SIGKILL). The cluster detects this after ``broker.session.timeout.ms``."""
        self._running(node_id).process.kill()

    def start_broker(self, node_id: int) -> None:
        """Start a stopped or killed broker again, with its data and port, and wait until it answers.

        Raises:
            BrokerError: it runs already, ended, or did not answer in time.

        """
        broker = self._broker(node_id)
        if broker.running:
            raise BrokerError(f"broker {node_id} is already running")
        self._starting.launch([broker], self._brokers, self._runtime)

    def pid(self, node_id: int) -> int:
        """Process id of a running broker's Java process, for example to send it SIGSTOP."""
        pid = self._running(node_id).process.pid
        if pid is None:
            raise BrokerError(self._broker(node_id).failure("ended before it ran"))
        return pid

    def log_path(self, node_id: int) -> Path:
        """Path of a broker's log, which a restart continues."""
        return self._broker(node_id).log_path

    @property
    def logs(self) -> dict[int, Path]:
        """Node id -> path of the log."""
        return {node_id: broker.log_path for node_id, broker in self._started().items()}

    # -- Java tools --------------------------------------------------------------------------------------------

    def java_classpath(self) -> str:
        """Kafka's jars and those of its tools, joined for ``-cp``."""
        return self._runtime.class_path

    def tool_command(self, main_class: str, *args: str) -> list[str]:
        """Return the command line that runs a Java main class of Kafka. The caller has to end that process."""
        return self._runtime.command(main_class, *args, flags=TOOL_FLAGS)

    def run_tool(
        self, main_class: str, *args: str, timeout: float = 60.0, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a Java main class of Kafka to its end; exit status and outputs as text are in the result.

        Raises:
            BrokerError: it did not end within ``timeout`` seconds and was killed.
        """
        return run_java(self.tool_command(main_class, *args), timeout, stdin)

    # -- inside ------------------------------------------------------------------------------------------------

    @cached_property
    def _runtime(self) -> JavaRuntime:
        return replace(java_runtime(self._version), plugins=self._plugins)

    def _started(self) -> dict[int, Broker]:
        if not self._brokers:
            raise BrokerError("this EmbeddedKafka is not started: use it in a with statement, or call start()")
        return self._brokers

    def _broker(self, node_id: int) -> Broker:
        try:
            return self._started()[node_id]
        except KeyError:
            raise BrokerError(f"there is no broker {node_id}, only {', '.join(map(str, self._brokers))}") from None

    def _running(self, node_id: int) -> Broker:
        broker = self._broker(node_id)
        if not broker.running:
            raise BrokerError(f"broker {node_id} is not running")
        return broker
