"""`KafkaInstrumentor`: classes are replaced for later imports, and restored."""

from __future__ import annotations

import importlib
import runpy
import sys
import tomllib
from pathlib import Path

import aiokafka
import confluent_kafka
import kafka
import pytest

from rebalance_agent.clients import instrumentor
from rebalance_agent.clients.instrumentor import USAGE, KafkaInstrumentor

ROOT = Path(__file__).parents[3]
OWN = (confluent_kafka.Consumer, kafka.KafkaConsumer, aiokafka.AIOKafkaConsumer)
EVERY = ("confluent-kafka", "kafka-python", "aiokafka")


def exported():
    return confluent_kafka.Consumer, kafka.KafkaConsumer, aiokafka.AIOKafkaConsumer


@pytest.fixture(autouse=True)
def restored():
    yield
    KafkaInstrumentor().uninstrument()
    assert exported() == OWN


def test_later_imports_get_the_instrumented_class_and_earlier_ones_keep_their_own():
    assert KafkaInstrumentor().instrument() == EVERY
    for own, ours in zip(OWN, exported(), strict=True):
        assert issubclass(ours, own)
        assert ours.__module__.startswith("rebalance_agent.clients.")
    assert kafka.consumer.group.KafkaConsumer is kafka.KafkaConsumer
    assert aiokafka.consumer.AIOKafkaConsumer is aiokafka.AIOKafkaConsumer
    before = exported()
    assert KafkaInstrumentor().instrument() == EVERY
    assert exported() == before


def test_a_client_that_the_adapter_cannot_use_keeps_its_own_class(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "rebalance_agent.clients.aiokafka", None)  # importing it raises ImportError
    assert KafkaInstrumentor().instrument() == EVERY[:2]
    assert aiokafka.AIOKafkaConsumer is OWN[2]
    assert "aiokafka is not instrumented" in caplog.text


def test_a_client_that_is_not_installed_is_skipped(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "kafka" else find(name))
    assert KafkaInstrumentor().instrument() == ("confluent-kafka", "aiokafka")


def test_opentelemetrys_launcher_finds_it_and_may_pass_options():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["opentelemetry_instrumentor"]["kafka-rebalance-agent"].partition(":")
    instrument = getattr(importlib.import_module(module), name)().instrument
    assert instrument(skip_dep_check=True, raise_exception_on_conflict=True) == EVERY


def test_consumers_get_its_options_unless_they_have_their_own():
    events, own = [], []
    KafkaInstrumentor().instrument(events_url="", on_event=events.append, skip_dep_check=True)
    settings = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}
    for expected, options in ((events, {}), (own, {"on_event": own.append})):
        consumer = confluent_kafka.Consumer(settings, **options)
        reporter = consumer._instrumentation._builder._reporter
        assert (reporter.posts, consumer.__class__.__name__) == (None, "Consumer")
        consumer._instrumentation.listener().on_partitions_assigned(())
        assert reporter.callbacks.finish(60)
        assert len(expected) == 1
        consumer.close()


@pytest.mark.parametrize("form", ["script", "module"])
def test_a_program_runs_as_python_would_run_it(monkeypatch, tmp_path, capsys, form):
    (tmp_path / "beside.py").write_text("WORD = 'found'\n")
    (tmp_path / "program.py").write_text(
        "import sys\nfrom confluent_kafka import Consumer\nfrom beside import WORD\n"
        "print(__name__, sys.argv[1:], Consumer.__module__, WORD)\n"
    )
    monkeypatch.chdir(tmp_path)
    given = [str(tmp_path / "program.py")] if form == "script" else ["-m", "program"]
    monkeypatch.setattr(sys, "argv", ["instrumentor", *given, "--flag", "x"])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    instrumentor.main()
    sys.modules.pop("beside")
    assert capsys.readouterr().out == (
        "__main__ ['--flag', 'x'] rebalance_agent.clients.confluent_kafka.consumer found\n"
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], USAGE),
        (["-m"], USAGE),
        (["-x"], USAGE),
        (["nofile.py"], "rebalance_agent.clients.instrumentor: there is no file nofile.py"),
        (["-m", "nopackage.module"], "rebalance_agent.clients.instrumentor: there is no module nopackage.module"),
    ],
)
def test_without_a_program_it_ends_with_one_line(monkeypatch, capsys, given, problem):
    monkeypatch.setattr(sys, "argv", ["instrumentor", *given])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(instrumentor.__file__, run_name="__main__")
    assert (ended.value.code, capsys.readouterr().err) == (2, problem + "\n")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_names_the_variable_and_its_default(monkeypatch, capsys, flag):
    monkeypatch.setattr(sys, "argv", ["instrumentor", flag])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(instrumentor.__file__, run_name="__main__")
    text = capsys.readouterr().out
    assert (ended.value.code, text.startswith(USAGE)) == (0, True)
    assert "REBALANCE_AGENT_EVENTS_URL (default: http://127.0.0.1:29309/v1/events)" in text
