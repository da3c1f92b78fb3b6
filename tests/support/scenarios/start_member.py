"""The members of a scenario: Python clients in threads or processes, and Kafka's own Java programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from rebalance_agent.clock import SystemClock
from support.observer.observing import PATIENCE_S
from support.scenarios.scenario_member import HERE, Call, Timed, run
from support.scenarios.scenario_streams import streams_jars

IN_MEMORY = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
STREAMS_INPUT, STREAMS_OUTPUT = "streams-plaintext-input", "streams-wordcount-output"


def start_member(kafka, config):
    """Start a member of the kind ``config["client"]``."""
    if command := {"java": _console_command, "share": _share_command, "streams": _streams_command}.get(
        config["client"]
    ):
        return JavaMember(command(kafka, config))
    if config["client"] == "streams-timed":
        return ProcessMember(config, "support.scenarios.scenario_streams")
    return ProcessMember(config) if config["killable"] else ThreadMember(config)


class PythonMember:
    """The reports of `scenario_member`. Safe from any thread."""

    def __init__(self, config):
        self.name = config["name"]
        self._lock = threading.Lock()
        self._calls = []
        self._held = set()

    def report(self, call):
        with self._lock:
            self._calls.append(call)
            change = self._held.update if call.kind == "assigned" else self._held.difference_update
            change(call.partitions)

    def calls(self):
        with self._lock:
            return list(self._calls)

    def held(self):
        """The number of its partitions; None if unknown."""
        with self._lock:
            return len(self._held)

    def end(self):
        """End the member after the scenario."""
        self.close()


class ThreadMember(PythonMember):
    """A member in a thread of this process."""

    def __init__(self, config):
        super().__init__(config)
        self.error = None
        self._timed = Timed(self.name, self.report)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(config,), daemon=True)
        self._thread.start()

    def _run(self, config):
        try:
            run(config, self._timed, self._stop)
        except Exception as error:  # noqa: BLE001 - the runner checks it
            self.error = error

    def slow(self, seconds):
        self._timed.slow_s = seconds

    def close(self):
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


class ProcessMember(PythonMember):
    """A member in its own process, which can be killed."""

    error = None

    def __init__(self, config, module="support.scenarios.scenario_member"):
        super().__init__(config)
        paths = HERE.parents[2] / "agent", HERE.parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", module, json.dumps(config)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            fields = json.loads(line)
            self.report(Call(**{**fields, "partitions": tuple(map(tuple, fields["partitions"]))}))

    def slow(self, seconds):
        self._process.stdin.write(f"slow {seconds}\n")
        self._process.stdin.flush()

    def close(self):
        self._process.stdin.close()
        self._wait()

    def kill(self):
        """Kill the process; its partitions have no owner from now on."""
        self._process.kill()
        now_ms = SystemClock().now_ms()
        self._process.stdin.close()
        self._wait()
        with self._lock:
            held = tuple(sorted(self._held))
        self.report(Call(self.name, "killed", now_ms, now_ms, held))

    def _wait(self):
        try:
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._thread.join(PATIENCE_S)
            self._process.stdout.close()


class JavaMember:
    """One of Kafka's own programs. It does not report its callbacks."""

    error = None

    def __init__(self, command):
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(command, stdout=self._output, stderr=subprocess.STDOUT)

    def calls(self):
        return []

    def held(self):
        return None

    def close(self):
        """Close as on Ctrl-C: it leaves its group."""
        self._end(signal.SIGINT)

    def kill(self):
        """Kill the process."""
        self._end(signal.SIGKILL)

    end = kill  # some need half a minute to close without a broker

    def _end(self, number):
        self._process.send_signal(number)
        try:
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._output.close()


def _console_command(kafka, config):
    properties = {"group.id": config["group"], "client.id": config["name"], **config["settings"]}
    return kafka.tool_command(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", config["bootstrap"], "--topic", config["topics"][0]),
        *(part for item in properties.items() for part in ("--command-property", "=".join(item))),
    )


def _share_command(kafka, config):
    return kafka.tool_command(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        *("--bootstrap-server", config["bootstrap"], "--group", config["group"], "--topic", config["topics"][0]),
        *("--command-property", f"client.id={config['name']}"),
    )


def _streams_command(kafka, config):
    """Kafka Streams' example. It keeps its state in memory, so that RocksDB (73 MB) is not needed."""
    properties = {
        "bootstrap.servers": config["bootstrap"],
        "application.id": config["group"],
        "client.id": config["name"],
        "group.protocol": "streams",
        "state.dir": tempfile.mkdtemp(prefix="state-", dir=config["directory"]),
        "dsl.store.suppliers.class": IN_MEMORY,
        "commit.interval.ms": "100",
        **config["settings"],
    }
    path = Path(properties["state.dir"], "streams.properties")
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    command = kafka.tool_command("org.apache.kafka.streams.examples.wordcount.WordCountDemo", str(path))
    class_path = command.index("-cp") + 1
    command[class_path] = os.pathsep.join([command[class_path], *map(str, streams_jars())])
    return command
