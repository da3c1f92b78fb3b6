"""Instruments the consumers of an unchanged program: it replaces the clients' consumer classes by this package's.

``python -m rebalance_agent.clients.instrumentor PROGRAM.py [ARGUMENT ...]`` (or ``-m MODULE``) runs a program this way.
With OpenTelemetry, ``opentelemetry-instrument python PROGRAM.py`` does the same, through the package's entry point.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from rebalance_agent.http.events_post import DEFAULT_URL
from rebalance_agent.instrumentation.delivery.endpoint import URL_VARIABLE

__all__ = ["KafkaInstrumentor", "main"]

USAGE = "usage: python -m rebalance_agent.clients.instrumentor (PROGRAM.py | -m MODULE) [ARGUMENT ...]"

HELP = f"""\
{USAGE}

Runs a program whose confluent-kafka, kafka-python and aiokafka consumers report their rebalances to the sidecar at
{URL_VARIABLE} (default: {DEFAULT_URL}). The program itself stays unchanged.
"""

REPORTING = ("events_url", "events_token", "on_event")
"""Arguments of every adapter's class that set where events go."""

_log = logging.getLogger("rebalance_agent.clients.instrumentor")


@dataclass(frozen=True, slots=True)
class _Client:
    """A client's consumer class ``name``, the modules that export it, and the adapter with a class of the same name."""

    modules: tuple[str, ...]
    name: str
    adapter: str

    def own_class(self) -> Any:  # noqa: ANN401 - a class of any client
        """Return the class that the client exports now; None if the client is not installed."""
        if importlib.util.find_spec(self.modules[0]) is None:
            return None
        return getattr(importlib.import_module(self.modules[0]), self.name)

    def instrumented_class(self) -> Any:  # noqa: ANN401
        """Return the adapter's class; None, with a warning, if the adapter cannot use the client's version."""
        try:
            return getattr(importlib.import_module(self.adapter), self.name)
        except ImportError as error:
            _log.warning("%s is not instrumented: %s", self.modules[0], error)
            return None

    def export(self, consumer: Any) -> None:  # noqa: ANN401
        """Let the client's modules export the class ``consumer``."""
        for module in self.modules:
            setattr(importlib.import_module(module), self.name, consumer)


_CLIENTS = {
    "confluent-kafka": _Client(("confluent_kafka",), "Consumer", "rebalance_agent.clients.confluent_kafka"),
    "kafka-python": _Client(
        ("kafka", "kafka.consumer", "kafka.consumer.group"), "KafkaConsumer", "rebalance_agent.clients.kafka_python"
    ),
    "aiokafka": _Client(
        ("aiokafka", "aiokafka.consumer", "aiokafka.consumer.consumer"),
        "AIOKafkaConsumer",
        "rebalance_agent.clients.aiokafka",
    ),
}


class KafkaInstrumentor:
    """Replaces the consumer classes of the installed clients, with the interface of OpenTelemetry's instrumentors.

    A module that imported a class earlier keeps the client's own class. Not thread-safe.
    """

    _originals: ClassVar[dict[str, Any]] = {}

    def instrument(self, **options: object) -> tuple[str, ...]:
        """Replace the classes; a second call changes nothing.

        Args:
            options: ``events_url``, ``events_token`` and ``on_event`` of every consumer that passes none of its own;
                see `rebalance_agent.instrumentation.Instrumentation`. Others, such as OpenTelemetry's, have no effect.

        Returns:
            The instrumented clients, such as ``confluent-kafka``.

        """
        for label, client in _CLIENTS.items():
            if label in self._originals or (original := client.own_class()) is None:
                continue
            if (ours := client.instrumented_class()) is not None:
                self._originals[label] = original
                client.export(_with_defaults(ours, {name: options[name] for name in REPORTING if name in options}))
        return tuple(self._originals)

    def uninstrument(self, **_options: object) -> None:
        """Restore the clients' own classes. Existing consumers continue to report."""
        while self._originals:
            label, original = self._originals.popitem()
            _CLIENTS[label].export(original)


def _with_defaults(consumer: Any, defaults: Mapping[str, object]) -> Any:  # noqa: ANN401
    """Return ``consumer``, a class, or a subclass whose instances get ``defaults`` as keyword arguments."""
    if not defaults:
        return consumer

    def initialize(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: ANN401
        consumer.__init__(self, *arguments, **{**defaults, **named})

    return type(consumer.__name__, (consumer,), {"__init__": initialize, "__module__": consumer.__module__})


def main() -> None:
    """Run the program that the command line names, with instrumented consumers, as Python would run it."""
    program = sys.argv[1:]
    if program[:1] in (["-h"], ["--help"]):
        print(HELP, end="")  # noqa: T201 - a command line
        sys.exit(0)
    as_module = program[:1] == ["-m"]
    if as_module:
        program = program[1:]
    if not program or program[0].startswith("-"):
        _refuse(USAGE)
    sys.path[0] = str(Path.cwd() if as_module else Path(program[0]).resolve().parent)
    if as_module and not _module_exists(program[0]):
        _refuse(f"rebalance_agent.clients.instrumentor: there is no module {program[0]}")
    if not as_module and not Path(program[0]).exists():
        _refuse(f"rebalance_agent.clients.instrumentor: there is no file {program[0]}")
    KafkaInstrumentor().instrument()
    sys.argv = program
    if as_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program[0], run_name="__main__")


def _module_exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of a package
        return False


def _refuse(text: str) -> NoReturn:
    print(text, file=sys.stderr)  # noqa: T201 - a command line
    sys.exit(2)


if __name__ == "__main__":
    main()
