"""`decode` reads the records of a real cluster: of one group, from a time on, and later ones."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid

import pytest

from rebalance_agent.cli.main import main
from rebalance_agent.clock import SystemClock
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from support.observer.observing import create_topic, eventually, members
from support.observer.replicas import generations

pytestmark = pytest.mark.integration


@pytest.fixture
def group(kafka):
    """A deleted classic group, and another one."""
    name = f"decoded-{uuid.uuid4().hex[:8]}"
    create_topic(kafka.bootstrap_servers, name, 4)
    for each in (name, f"{name}-other"):
        with members(kafka.bootstrap_servers, each, name):
            eventually(lambda each=each: generations(kafka.bootstrap_servers, [each])[each])
    return name


@pytest.fixture
def decoded(kafka, capsys):
    def run(*flags):
        code = main(["decode", "--bootstrap-servers", kafka.bootstrap_servers, *flags])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_the_records_of_one_group_are_those_of_its_partition_in_order(group, decoded, kafka):
    code, found = decoded("--group", group)
    assert code == 0
    assert {each["group"] for each in found} == {group}
    seen = [each["generation"] for each in found if each["kind"] == "group_metadata" and each.get("members")]
    assert list(dict.fromkeys(seen)) == generations(kafka.bootstrap_servers, [group])[group] != []
    (partition,) = {each["record_partition"] for each in found}
    with_others = decoded()[1]
    assert {group, f"{group}-other"} <= {each.get("group") for each in with_others}
    assert partition == offsets_partition(group, 1 + max(each["record_partition"] for each in with_others))
    offsets = [each["record_offset"] for each in found]
    assert offsets == sorted(set(offsets))


def test_raw_records_are_valid_input_of_the_command(group, decoded, tmp_path, capsys):
    _, found = decoded("--group", group)
    _, raw = decoded("--group", group, "--raw")
    (tmp_path / "records.ndjson").write_text("\n".join(map(json.dumps, raw)))
    assert main(["decode", str(tmp_path / "records.ndjson")]) == 0
    read = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    position = ("partition", "offset")
    assert [
        each | {f"record_{name}": one[name] for name in position} for each, one in zip(read, raw, strict=True)
    ] == found


def test_records_before_the_time_are_omitted(group, decoded):
    _, found = decoded("--group", group)
    last = found[-1]["record_timestamp"]
    assert decoded("--group", group, "--since", str(last)) == (
        0,
        [each for each in found if each["record_timestamp"] >= last],
    )
    assert decoded("--group", group, "--since", str(last + 86_400_000)) == (0, [])


def test_later_records_are_printed_until_ctrl_c(group, kafka):
    since = str(SystemClock().now_ms())
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "decode", "--bootstrap-servers"]
    flags = (kafka.bootstrap_servers, "--group", group, "--since", since, "--follow")
    with subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with members(kafka.bootstrap_servers, group, group):
            first = json.loads(process.stdout.readline())
        assert (first["group"], first["record_timestamp"] >= int(since)) == (group, True)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == b""


def test_a_missing_response_is_reported_and_ends_with_1(capsys):
    assert main(["decode", "--bootstrap-servers", "127.0.0.1:1", "--group", "g"]) == 2
    assert capsys.readouterr().err.startswith("rebalance-agent decode: reading metadata")
