"""``rebalance-agent gateway``: a wrong setting ends it with exit code 2 and a message that names it.

With ``--explain``, the exit code is 1 if no broker answers.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import socket
from types import SimpleNamespace

import pytest
import structlog

from rebalance_agent.cli import main
from rebalance_agent.cli.commands import gateway
from rebalance_agent.errors import ClusterError
from rebalance_agent.gateway.past.past_admissions import PastAdmissions
from rebalance_agent.gateway.past.past_seats import PastSeats
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup

HINT = "`rebalance-agent check --role gateway` with the same settings tests servers, login and permissions\n"
UNVERIFIED = ["--kafka", "security.protocol=SSL", "--kafka", "enable.ssl.certificate.verification=false"]


@pytest.fixture(autouse=True)
def _logging_as_it_was():
    root = logging.getLogger()
    before = root.handlers, root.level
    yield
    root.handlers, root.level = before
    structlog.reset_defaults()


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        ([], "kafka.bootstrap.servers: is missing: add --bootstrap-servers HOST:PORT,..."),
        (["--bootstrap-servers", "127.0.0.1:1", "--gateway-listen", "TAKEN"], "cannot listen on TAKEN"),
        (["--bootstrap-servers", "127.0.0.1:1", "--gateway-listen", "0.0.0.0:0"], "gateway_listen: 0.0.0.0 can be"),
        (["--bootstrap-servers", "127.0.0.1:1", "--gateway-groups", "g=nothing"], "gateway_groups: rule 'g=nothing'"),
        (
            ["--bootstrap-servers", "127.0.0.1:1", "--gateway-tls-cert-file", "/no/such"],
            "gateway_tls_key_file: is missing",
        ),
        (
            ["--bootstrap-servers", "127.0.0.1:1", *UNVERIFIED],
            "kafka.enable.ssl.certificate.verification: must be true",
        ),
    ],
)
def test_a_gateway_that_cannot_start_ends_with_2_and_the_reason(capsys, taken, flags, reported):
    anywhere = ["--listen", "127.0.0.1:0", "--events-listen", "127.0.0.1:0", "--events-topic", ""]
    assert main.main(["gateway", *anywhere, *(flag.replace("TAKEN", taken) for flag in flags)]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rebalance-agent gateway: ")]
    assert [line.startswith(f"rebalance-agent gateway: {reported.replace('TAKEN', taken)}") for line in lines] == [True]


@pytest.fixture
def explained(monkeypatch, capsys):
    """The exit code, the output as one line, and the errors of ``gateway --explain orders``."""
    monkeypatch.setattr(gateway, "quiet_logs", lambda: None)

    def run(describe, *arguments):
        monkeypatch.setattr(gateway, "Cluster", lambda _properties: SimpleNamespace(describe_groups=describe))
        monkeypatch.setattr(gateway, "similar_group", lambda *_: "")
        code = main.main(["gateway", "--gateway-groups", "orders=sticky", "--explain", "orders", *arguments])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err

    return run


def test_without_a_response_of_the_brokers_the_exit_code_is_1_and_check_is_named(explained):
    def away(_groups):
        raise ClusterError("describing groups: Connection refused")

    code, out, err = explained(away, "--bootstrap-servers", "127.0.0.1:1")
    assert (code, err) == (1, HINT)
    assert "The gateway adds sticky before the client's own assignors" in out
    assert "The group's state is not known: describing groups: Connection refused" in out


def test_a_group_that_does_not_exist_has_no_hint(explained):
    code, out, err = explained(lambda _groups: [], "--bootstrap-servers", "127.0.0.1:1")
    assert (code, err) == (0, "")
    assert "The group does not exist." in out


def test_without_the_name_of_a_broker_there_is_nothing_to_check(explained):
    code, out, err = explained(None)
    assert (code, err) == (1, "")
    assert "The group's state is not known: kafka.bootstrap.servers contains no broker" in out


GROUP = DescribedGroup("orders", GroupState.STABLE, GroupType.CLASSIC, "range", ())
PAST = PastSeats(9, 6, 7, 1.5, 0.5, 1_000, GroupType.CLASSIC, PastAdmissions(1, 2.0, 3.0))
SEATS = ("--bootstrap-servers", "127.0.0.1:1", "--gateway-seats", "orders=on")


def test_the_explanation_has_a_form_for_programs(explained, monkeypatch):
    monkeypatch.setattr(gateway, "_past", lambda *_: (PAST, "the offsets topic"))
    code, out, err = explained(lambda _groups: [GROUP], *SEATS, "--output", "json")
    shown = json.loads(out)
    assert (code, err) == (0, "")
    assert shown["group"] == "orders"
    assert shown["now"] == {
        "type": "classic",
        "state": "Stable",
        "assignor": "range",
        "members": 0,
        "assignments": [],
    }
    assert (shown["rule"]["strategy"], shown["rule"]["obstacle"]) == ("sticky", None)
    assert (shown["seats"]["mode"], shown["seats"]["keep_seconds"]) == ("on", 0.0)
    assert shown["past"] == {
        "source": "the offsets topic",
        "first_ms": 1_000,
        "rebalances": 9,
        "avoided": 6,
        "avoided_generations": 7,
        "stalled_partition_seconds": 1.5,
        "vacant_partition_seconds": 0.5,
        "merged": 1,
        "merged_stalled_partition_seconds": 3.0,
        "waited_seconds": 2.0,
    }


def test_the_explanation_is_one_line_of_csv(capsys, monkeypatch):
    monkeypatch.setattr(gateway, "quiet_logs", lambda: None)
    monkeypatch.setattr(gateway, "_past", lambda *_: (None, "no permission"))
    monkeypatch.setattr(gateway, "Cluster", lambda _: SimpleNamespace(describe_groups=lambda _groups: [GROUP]))
    assert main.main(["gateway", "--explain", "orders", *SEATS, "--output", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["group"], row["now.members"], row["rule.text"]) == ("orders", "0", "")
    assert (row["seats.mode"], row["past.unknown"], row["past.avoided"]) == ("on", "no permission", "")


def test_an_output_without_an_explanation_is_refused(capsys):
    with pytest.raises(SystemExit):
        main.main(["gateway", "--bootstrap-servers", "127.0.0.1:1", "--output", "json"])
    assert "--output requires --explain" in capsys.readouterr().err
