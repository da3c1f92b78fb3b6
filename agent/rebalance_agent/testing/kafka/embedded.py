"""`EmbeddedKafka`: an Apache Kafka cluster for the length of a ``with`` block."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.broker import Broker
from rebalance_agent.testing.kafka.broker_settings import HOST
from rebalance_agent.testing.kafka.java import JavaRuntime, java_runtime
from rebalance_agent.testing.kafka.java_tool import run_java
from rebalance_agent.testing.kafka.layout import Layout
from rebalance_agent.testing.kafka.listeners import Listener
from rebalance_agent.testing.kafka.scram import store_scram_users

__all__ = ["EmbeddedKafka"]

HEAP = "-Xmx512m"
TOOL_FLAGS = ("-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
START_ATTEMPTS_MAX = 3  # a clash of ports is rare; three in a row have another reason
STOP_TIMEOUT_S = 30.0
_POLL_S = 0.05
_CLASS_LIST = "classes.lst"


class EmbeddedKafka:
    """Apache Kafka 4.3 (KRaft) of one or several brokers on the loopback interface.

    ``with EmbeddedKafka() as kafka`` gives a cluster that answers; leaving the block ends every process and deletes
    the data. The brokers also end when this process does, however it does. Not for use from several threads.

    The first of them, or the first three of three and more, are controllers too: a majority of those has to run.
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
        offsets_topic: bool = True,
        keep_logs: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """Describe the cluster; `start` runs it.

        Args:
            brokers: how many, 1 to 9; node ids are 1, 2, ...
            properties: server properties on top of ours, for every broker.
            directory: where brokers write; must be empty or absent, and is left as it is at the end.
                By default a temporary directory that is deleted at the end.
            startup_timeout: seconds that `start` and `start_broker` wait for an answer (without downloading).
            listeners: secured ones beside the plain one, by name; `address` tells where they are.
            authorizer: Kafka's own (KIP-801): principals of secured listeners have the rights that ACLs give them,
                and those who come by the plain listener have all.
            racks: ``broker.rack`` of each broker, in the order of their ids; none by default.
            jvm_flags: after ours, so that ``-Xmx1g`` replaces our 512 MB.
            offsets_topic: whether being ready includes that ``__consumer_offsets`` exists and has its coordinator.
            keep_logs: keep the temporary directory's logs at the end. They are kept anyway if the block fails.
            clock: for the time limits.

        """
        self._layout = Layout(
            brokers,
            dict(properties or {}),
            dict(listeners or {}),
            authorizer,
            tuple(racks),
            Path(directory).absolute() if directory is not None else None,
        )
        self.keep_logs = keep_logs
        self._timeout = startup_timeout
        self._flags = (HEAP, *jvm_flags)
        self._offsets_topic = offsets_topic
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._runtime: JavaRuntime | None = None
        self._root: Path | None = None
        self._brokers: dict[int, Broker] = {}
        self._owner = 0

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; after an exception the logs are kept and the exception gets a note that says where."""
        root = self._root
        if error is not None:
            self.keep_logs = True
        self.stop()
        if error is not None and root is not None:
            error.add_note(f"the brokers' logs are kept in {root}")

    # -- the cluster -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all brokers and wait until each answers and knows all others.

        Raises:
            ArtifactError: Kafka or Java cannot be had.
            BrokerError: a broker ended or did not answer in time (the logs are kept), or this is started already.

        """
        if self._brokers:
            raise BrokerError("this EmbeddedKafka is started already")
        self._runtime = java_runtime()
        checkpoint = self._runtime.bootstrap_checkpoint()
        self._root = self._layout.make_root()
        self._owner = os.getpid()
        atexit.register(self.stop)
        try:
            for attempt in range(1, START_ATTEMPTS_MAX + 1):
                self._brokers = self._layout.write(self._root, checkpoint)
                try:
                    self._launch(self._brokers.values())
                    store_scram_users(self.bootstrap_servers, self._layout.listeners.values())
                    self._runtime.build_archive(self._brokers[1].node.directory / _CLASS_LIST)
                    break
                except BrokerError:
                    clashed = any(broker.bind_clashed() for broker in self._brokers.values())
                    if not clashed or attempt == START_ATTEMPTS_MAX:
                        raise
                    self._kill_all()
        except BaseException:
            self.keep_logs = True
            self.stop()
            raise

    def stop(self) -> None:
        """End every broker at once (SIGKILL) and delete what they wrote. Does nothing if not started."""
        if self._root is None or self._owner != os.getpid():
            return  # a forked child's copy: not its cluster
        self._kill_all()
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
        """``host:port`` of a further listener of every broker as clients are told it, joined by commas.

        ``behind``: where a fronted one listens.

        Raises:
            BrokerError: it is not started, or has no such listener.
        """
        brokers = self._started().values()
        known = self._layout.listeners
        if listener not in known:
            raise BrokerError(f"there is no listener {listener}, only {', '.join(known) or 'the plain one'}")
        ports = ({**each.node.ports, **({} if behind else each.node.fronts)}[listener] for each in brokers)
        return ",".join(f"{HOST}:{port}" for port in ports)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Node ids of all brokers, running or not."""
        return tuple(self._started())

    @property
    def directory(self) -> Path:
        """The directory that brokers and logs are in. Raises BrokerError if not started."""
        return next(iter(self._started().values())).log_path.parent

    # -- one broker --------------------------------------------------------------------------------------------

    def stop_broker(self, node_id: int, timeout: float = STOP_TIMEOUT_S) -> None:
        """Stop one broker cleanly: it hands over what it leads and leaves the cluster.

        Raises:
            BrokerError: it does not run, or did not end within ``timeout`` seconds (then it was killed).

        """
        process = self._running(node_id).process
        process.terminate()
        if not process.exited.wait(timeout):
            process.kill()
            raise BrokerError(self._broker(node_id).failure(f"did not stop within {timeout:g} s and was killed"))

    def kill_broker(self, node_id: int) -> None:
        """End one broker as a crash would (SIGKILL). The cluster notices after ``broker.session.timeout.ms``."""
        self._running(node_id).process.kill()

    def start_broker(self, node_id: int) -> None:
        """Start a stopped or killed broker again, on its data and its port, and wait until it answers.

        Raises:
            BrokerError: it runs already, ended, or did not answer in time.

        """
        broker = self._broker(node_id)
        if broker.running:
            raise BrokerError(f"broker {node_id} runs already")
        self._launch([broker])

    def pid(self, node_id: int) -> int:
        """Process id of a running broker's Java process, for example to send it SIGSTOP."""
        pid = self._running(node_id).process.pid
        if pid is None:
            raise BrokerError(self._broker(node_id).failure("ended before it ran"))
        return pid

    def log_path(self, node_id: int) -> Path:
        """Where a broker's log is; it grows over restarts."""
        return self._broker(node_id).log_path

    @property
    def logs(self) -> dict[int, Path]:
        """Log path by node id."""
        return {node_id: broker.log_path for node_id, broker in self._started().items()}

    # -- Java tools --------------------------------------------------------------------------------------------

    def java_classpath(self) -> str:
        """Kafka's jars with all tools, joined for ``-cp``."""
        return self._java().class_path

    def tool_command(self, main_class: str, *args: str) -> list[str]:
        """Command line that runs a Java main class of Kafka, for ``subprocess.Popen``. Ending it is up to you."""
        return self._java().command(main_class, *args, flags=TOOL_FLAGS)

    def run_tool(
        self, main_class: str, *args: str, timeout: float = 60.0, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a Java main class of Kafka to its end, whatever its exit status; outputs are captured as text.

        Raises:
            BrokerError: it did not end within ``timeout`` seconds (then it was killed).

        """
        return run_java(self.tool_command(main_class, *args), timeout, stdin)

    # -- inside ------------------------------------------------------------------------------------------------

    def _java(self) -> JavaRuntime:
        if self._runtime is None:
            self._runtime = java_runtime()
        return self._runtime

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
            raise BrokerError(f"broker {node_id} does not run")
        return broker

    def _launch(self, brokers: Iterable[Broker]) -> None:
        runtime = self._java()
        for broker in brokers:
            # Until there is a class archive, broker 1 lists its classes for it; see `archive`.
            listing = runtime.listing_flags(broker.node.directory / _CLASS_LIST) if broker.node.node_id == 1 else []
            remove = [broker.node.directory] if self._layout.directory is None else []
            broker.launch(runtime, (*listing, *self._flags), remove)
        running = {node_id: each for node_id, each in self._brokers.items() if each.running}
        deadline = self._clock.monotonic() + self._timeout
        for broker in running.values():
            self._await(broker, lambda broker=broker: broker.answers(frozenset(running)), deadline)  # type: ignore[misc]
        if self._offsets_topic:
            last = list(running.values())[-1]
            self._await(last, last.has_coordinator, deadline)

    def _await(self, broker: Broker, condition: Callable[[], bool], deadline: float) -> None:
        while not condition():
            if self._clock.monotonic() > deadline:
                raise BrokerError(broker.failure(f"did not get ready within {self._timeout:g} s"))
            broker.process.exited.wait(_POLL_S)  # an end of the process ends the wait at once

    def _kill_all(self) -> None:
        for broker in self._brokers.values():
            if broker.running:
                broker.process.kill()
