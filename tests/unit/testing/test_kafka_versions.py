from __future__ import annotations

import pytest

from rebalance_agent.testing import BrokerError, EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import (
    DEFAULT_VERSION,
    VARIABLE,
    VERSIONS,
    WITH_TOOLS,
    BootstrapCheckpoint,
    kafka_version,
)


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_versions_are_listed_newest_first():
    assert VERSIONS == ("4.4.0", "4.3.0", "4.1.2", "4.0.2", "3.9.2")
    assert WITH_TOOLS == ("4.4.0", "4.3.0")
    assert DEFAULT_VERSION in WITH_TOOLS


@pytest.mark.parametrize("text", ["4.4", "4.4.0"])
def test_a_version_is_named_in_full_or_by_its_first_two_parts(text):
    assert kafka_version(text).number == "4.4.0"


def test_an_argument_wins_over_the_variable_and_that_over_the_default(monkeypatch):
    assert EmbeddedKafka().version == DEFAULT_VERSION
    monkeypatch.setenv(VARIABLE, "4.3")
    assert EmbeddedKafka().version == "4.3.0"
    assert EmbeddedKafka(version="4.1").version == "4.1.2"


@pytest.mark.parametrize("text", ["4", "4.2", "4.4.1", "../locks"])
def test_an_unknown_version_is_refused_with_all_known_ones(text, monkeypatch):
    with pytest.raises(BrokerError, match=r"cannot be embedded, only 4\.4\.0, 4\.3\.0, 4\.1\.2, 4\.0\.2, 3\.9\.2$"):
        EmbeddedKafka(version=text)
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(BrokerError, match="cannot be embedded"):
        EmbeddedKafka()


@pytest.mark.parametrize(
    ("version", "controller", "written"),
    [
        ("4.4.0", True, ["__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"]),
        ("4.4.0", False, []),
        ("4.3.0", True, ["bootstrap.checkpoint"]),
        ("4.3.0", False, ["bootstrap.checkpoint"]),
    ],
)
def test_the_checkpoint_is_where_this_version_formats_it(version, controller, written, tmp_path):
    BootstrapCheckpoint(kafka_version(version).checkpoint_path, b"levels").write(tmp_path, controller=controller)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.relative_to(tmp_path).as_posix() for path in files] == written
    assert all(path.read_bytes() == b"levels" for path in files)
