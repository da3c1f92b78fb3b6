"""``rebalance-agent decode`` as users run it: pipes, files, bad lines, long lines, a reader that stops early."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rebalance_agent.cli.commands import decode
from rebalance_agent.cli.main import main

TOMBSTONE = '{"key": "AAIAAWc=", "value": null, "timestamp": 5}'
READ = {"kind": "group_metadata", "key_version": 2, "value_version": None, "group": "g", "record_timestamp": 5}
READ["tombstone"] = True


@pytest.fixture
def decoded(monkeypatch, capsys):
    """Run the command with this standard input; return the exit code and the output lines as objects."""

    def run(text, *arguments):
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False))
        code = decode.run(parsed(*arguments))
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    decode.add_parser(parser.add_subparsers())
    return parser.parse_args(["decode", *arguments])


def test_the_parser_knows_what_to_run():
    assert parsed("records.ndjson").file == "records.ndjson"
    assert parsed().run is decode.run


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--group", "g"), "--bootstrap-servers: is missing"),
        (("--follow",), "--bootstrap-servers: is missing"),
        (("--since", "yesterday", "--bootstrap-servers", "b:1"), "must look like 2026-05-04T09:00:00Z"),
        (("--kind", "group_metdata"), "did you mean group_metadata?"),
        (("--kind", "group_metadata", "--raw"), "--kind: cannot be combined with --raw"),
        (("records.ndjson", "--bootstrap-servers", "b:1"), "FILE: cannot be combined with a cluster"),
    ],
)
def test_inconsistent_flags_are_refused(capsys, arguments, problem):
    try:
        code = main(["decode", *arguments])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert problem in capsys.readouterr().err


def test_records_are_decoded_in_order_with_exit_code_0(decoded):
    assert decoded(f"{TOMBSTONE}\n\n  \n{TOMBSTONE}") == (0, [READ, READ])


def test_records_of_other_kinds_are_left_out_but_no_errors(decoded):
    code, lines = decoded(f"{TOMBSTONE}\nnothing\n", "--kind", "offset_commit")
    assert code == 1
    assert [set(line) for line in lines] == [{"error"}]
    assert decoded(TOMBSTONE, "--kind", "offset_commit", "--kind", "group_metadata") == (0, [READ])


def test_unknown_kinds_are_decoded_as_records(decoded):
    code, lines = decoded('{"key": "AGM=", "value": "AAA=", "timestamp": 5}\n')
    assert (code, lines) == (0, [{"kind": "unknown", "key_version": 99, "record_timestamp": 5}])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ("{}", "line 2: key: is missing"),
        ('{"key": null, "value": null}', "line 2: key: must be base64, not null"),
        ('{"key": 7, "value": null}', "line 2: key: must be base64 text"),
        ('{"key": "AAIAAWc=", "value": "*"}', "line 2: value: not base64"),
        ('{"key": "AAIAAWc=", "value": "\\u00e9"}', "line 2: value: not base64"),
        ('{"key": "AAIAAWc="}', "line 2: value: is missing"),
        ('{"key": "AAIAAWc=", "value": null, "timestamp": 1.5}', "line 2: timestamp: "),
        ('{"key": "AAIAAWc=", "value": null, "timestamp": true}', "line 2: timestamp: "),
        ('{"key": "AAIAAWc=", "value": null, "timestamp": 9223372036854775808}', "line 2: timestamp: "),
        (
            '{"key": "AAIAAWc=", "value": ""}',
            "line 2: GroupMetadataValue: 2 bytes are needed, but only 0 are left at byte 0",
        ),
        ("[" * 100_000, "line 2: not JSON"),
        ('{"key": ' + "9" * 10_000 + "}", "line 2: not JSON"),
    ],
)
def test_a_bad_line_has_an_error_line_in_its_place_and_decoding_continues(decoded, line, problem):
    code, lines = decoded(f"{TOMBSTONE}\n{line}\n{TOMBSTONE}\n")
    assert code == 1
    assert [lines[0], lines[2]] == [READ, READ]
    assert list(lines[1]) == ["error"]
    assert lines[1]["error"].startswith(problem)


def test_a_line_that_is_no_text_is_a_bad_line(decoded):
    code, lines = decoded(b"\xff\xfe\xff\n" + TOMBSTONE.encode())
    assert (code, lines[1]) == (1, READ)
    assert lines[0]["error"].startswith("line 1: not JSON")


def test_a_line_beyond_the_bound_is_named_and_skipped_to_its_end(decoded, monkeypatch):
    monkeypatch.setattr(decode, "LINE_BYTES_MAX", len(TOMBSTONE) + 1)
    long = TOMBSTONE.replace("}", " " * 500 + "}")
    code, lines = decoded(f"{TOMBSTONE}\n{long}\n{TOMBSTONE}\n{long}")
    assert (code, lines[0], lines[2]) == (1, READ, READ)
    assert [line["error"] for line in lines[1::2]] == [
        f"line {n}: longer than {len(TOMBSTONE) + 1} bytes" for n in (2, 4)
    ]


def test_a_file_is_read_and_a_missing_one_ends_with_exit_code_2(tmp_path, capsys):
    path = tmp_path / "records.ndjson"
    path.write_text(TOMBSTONE + "\n")
    assert decode.run(parsed(str(path))) == 0
    assert json.loads(capsys.readouterr().out) == READ
    assert main(["decode", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err == f"rebalance-agent decode: {tmp_path / 'missing'}: No such file or directory\n"


def test_each_line_is_answered_at_once_and_a_closed_pipe_ends_without_an_error():
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "decode"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment()) as process:
        process.stdin.write(TOMBSTONE.encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == READ
        process.stdout.close()
        process.stdin.write(TOMBSTONE.encode() + b"\n")
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def environment():
    """Our environment without variables that disable output buffering, because the command must flush by itself."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONPATH": os.pathsep.join(sys.path)}
