"""``rebalance-agent decode``: records of ``__consumer_offsets`` from NDJSON to readable NDJSON, line by line."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from rebalance_agent.cli.command_parser import add_command
from rebalance_agent.cli.inputs.line_files import bounded_lines, open_input
from rebalance_agent.cli.inputs.raw_records import raw_record
from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.record_json import record_json
from rebalance_agent.groupprotocol.records import decode_record

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it

__all__ = ["LINE_BYTES_MAX", "add_parser", "run"]

LINE_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of one input line: base64 of a record twelve times the size that brokers take by default (1 MiB)."""

_DESCRIPTION = """\
Print records of __consumer_offsets as JSON, one object per record.

Input, one JSON object per line (base64 of the record's original bytes; a value of null is a tombstone):

  {"key": "<base64>", "value": "<base64>" | null, "timestamp": 1700000000000}

Output, one JSON object per input line and in the same order, fields under Kafka's own names in snake case:

  kind              offset_commit, group_metadata (a classic group), consumer_group_..., share_group_...,
                    streams_group_...; "unknown" for a key version that this release does not know
  key_version, value_version, group, record_timestamp (the input's timestamp, epoch milliseconds)
  then the value's fields: generation, protocol_type, protocol, leader, current_state_timestamp, members ...
  members[].subscription   {version, topics, user_data, owned_partitions, generation_id, rack_id}
  members[].assignment     {version, partitions, user_data}
                           or {"raw": "<base64>"} if the bytes are not the consumer protocol
                           Kafka Streams (protocol "stream") adds process_id to a subscription, and to an assignment
                           active_tasks and standby_tasks, {"subtopology": [numbers]}, if its user data can be read
  tombstone: true          the value is null (value_version is null, too)
  unknown: true            the value has a version that this release does not know
  unknown_tags: n          n tagged fields were skipped (omitted if 0)
  error: "line n: ..."     the line is not such JSON, or the bytes are malformed; the other lines are decoded

Bytes are base64, topic ids are as Kafka prints them, partitions are {"topic": [numbers]}. Blank lines are skipped.
"""

_EPILOG = f"""\
exit codes:
  0  every line was a record, known or unknown
  1  a line had an error, which is printed in its place
  2  the file cannot be read

limits: a line of at most {LINE_BYTES_MAX} bytes.

example, generation and members of every group in a file of records:
  rebalance-agent decode records.ndjson | jq -c 'select(.members) | [.group, .generation, (.members | length)]'
"""


def add_parser(subparsers: Commands) -> None:
    """Add ``decode`` to the commands."""
    parser = add_command(subparsers, "decode", "print records of __consumer_offsets as JSON", _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="NDJSON of records; - (the default) is standard input"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Decode ``args.file`` to standard output line by line; the exit code is as ``--help`` says."""
    failed = False
    with open_input(args.file) as file:
        for number, line in enumerate(bounded_lines(file, LINE_BYTES_MAX), 1):
            if line.isspace() and len(line) <= LINE_BYTES_MAX:
                continue
            try:
                out = _decode_line(line)
            except (DecodeError, InvalidInputError) as error:
                out = {"error": f"line {number}: {error}"}
                failed = True
            print(json.dumps(out, separators=(",", ":")), flush=True)
    return 1 if failed else 0


def _decode_line(line: bytes) -> dict[str, Any]:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInputError("", f"longer than {LINE_BYTES_MAX} bytes")
    record = raw_record(line)
    return record_json(decode_record(record.key, record.value), record.timestamp)
