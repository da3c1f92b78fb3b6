"""Runs the whole demo: starts Kafka, runs the scenario on it, shows the summary and returns the exit code."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import rebalance_agent
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.observed.coordinator_state import ONE_OFFSETS_PARTITION
from rebalance_agent.demo.observed.summary import Summary, to_json
from rebalance_agent.demo.processes.children import Children
from rebalance_agent.demo.processes.interrupts import EXIT_INTERRUPTED, orderly_end
from rebalance_agent.demo.run_on_broker import DemoRun
from rebalance_agent.demo.scenario import GROUPS, STEPS, TOPICS
from rebalance_agent.demo.screens.model_rows import HEADINGS, model_rows
from rebalance_agent.demo.screens.screen import Screen
from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import WITH_TOOLS
from rebalance_agent.ui.terminal import is_live

__all__ = ["KAFKA_VERSIONS", "Options", "own_command", "run"]

KAFKA_VERSIONS = WITH_TOOLS
"""Versions of Kafka that the demo can start. Its check needs Kafka's tools."""

PROGRAM = "rebalance-agent"
"""Name of the program that pip installs."""

MORE = """\
Next: docs/demo.md explains the groups, steps and tables; README.md has the first steps with your own cluster."""
"""The last lines of a run."""

ENDLESS = """\
`make demo ARGS="--seconds 0"` runs until Ctrl-C, so that you can open its page and use commands with its Kafka."""
"""Text after `MORE` at the end of a run with a time limit."""

ENDED = f"Ctrl-C ended the run: the exit code is {EXIT_INTERRUPTED}, which `make` reports as an error or interrupt."
"""Text after `MORE` at the end of a run without a time limit."""

PATIENT_CONTROLLER = {"broker.session.timeout.ms": "60000"}
"""Broker properties: a long session timeout, so that the only broker is not fenced on a busy machine."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command's flags.

    ``seconds``: time limit, counted from when the broker is ready; 0 for no limit. ``kafka_version``: None selects the
    embedded Kafka's default.
    """

    seconds: float = 90.0
    headless: bool = False
    check: bool = False
    summary: Path | None = None
    kafka_version: str | None = None


def run(options: Options, clock: Clock | None = None) -> int:
    """Run the demo; return 0, 1 if the check found differences, or 130 if Ctrl-C ended a run without a time limit.

    Raises:
        RebalanceAgentError: Kafka cannot be fetched or started, or a process of the demo failed.
        KeyboardInterrupt: Ctrl-C ended a run with a time limit; raised after the cleanup.
    """
    screen = Screen(sys.stdout, live=is_live(sys.stdout) and not options.headless)
    with orderly_end(), screen, _run_directory(screen) as directory:
        summary, interrupted = _run_on_broker(options, clock or SystemClock(), screen, directory.path)
        screen.close(summary)
        screen.table(HEADINGS, model_rows(GROUPS, STEPS, TOPICS))
        screen.say(f"{MORE}\n{ENDLESS if options.seconds else ENDED}")
        _write(options.summary, summary)
        directory.keep = options.check and bool(summary.differences)
    if interrupted:
        return EXIT_INTERRUPTED
    return 1 if options.check and summary.differences else 0


def _run_on_broker(options: Options, clock: Clock, screen: Screen, logs: Path) -> tuple[Summary, bool]:
    kafka = EmbeddedKafka(properties={**ONE_OFFSETS_PARTITION, **PATIENT_CONTROLLER}, version=options.kafka_version)
    screen.say(f"starting Apache Kafka {kafka.version} ...")
    began = clock.monotonic()
    kafka.start()
    try:
        screen.say(f"Kafka is ready after {clock.monotonic() - began:.1f} s at {kafka.bootstrap_servers}")
        if not options.seconds:
            example = f"{own_command()} explain orders-weighted --bootstrap-servers {kafka.bootstrap_servers}"
            screen.say(f"runs until Ctrl-C; meanwhile, in another terminal: {example}")
        with Children(logs, clock) as children:
            demo_run = DemoRun(options.seconds, options.check, clock, screen, kafka, children)
            return demo_run.run(), demo_run.interrupted
    except RebalanceAgentError:
        kafka.keep_logs = True
        screen.say(f"the broker's log is kept: {kafka.log_path(kafka.node_ids[0])}")
        raise
    finally:
        kafka.stop()


def own_command() -> str:
    """Return the shell command for ``rebalance-agent``.

    The command is the program's name if the PATH contains it, otherwise its path beside this interpreter, or the module
    if the program is not installed.
    """
    if shutil.which(PROGRAM):
        return PROGRAM
    if beside := shutil.which(PROGRAM, path=str(Path(sys.executable).parent)):
        return shlex.quote(beside)
    package = Path(rebalance_agent.__file__).parent.parent
    return f"PYTHONPATH={shlex.quote(str(package))} {shlex.quote(sys.executable)} -m rebalance_agent.cli.main"


def _write(path: Path | None, summary: Summary) -> None:
    if path is None:
        return
    try:
        path.write_text(json.dumps(to_json(summary), indent=2) + "\n")
    except OSError as error:
        raise DemoError(f"--summary: {error}") from error


@dataclass(slots=True)
class _RunDirectory:
    path: Path
    keep: bool = True


@contextmanager
def _run_directory(screen: Screen) -> Iterator[_RunDirectory]:
    """Create a directory for the children's logs; keep it if something went wrong, otherwise remove it."""
    try:
        directory = _RunDirectory(Path(tempfile.mkdtemp(prefix="rebalance-agent-demo-")))
    except OSError as error:
        raise DemoError(f"cannot create a directory for the logs: {error}") from error
    screen.say(f"logs: {directory.path}")
    try:
        yield directory
    except (KeyboardInterrupt, SystemExit):
        directory.keep = False
        raise
    finally:
        if directory.keep:
            screen.say(f"the logs are kept: {directory.path}")
        else:
            shutil.rmtree(directory.path, ignore_errors=True)
