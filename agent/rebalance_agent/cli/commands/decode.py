"""``rebalance-agent decode``: prints records of ``__consumer_offsets``, read from a cluster or NDJSON, as text."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rebalance_agent.cli.command_parser import OneOf, add_command, moment_ms, not_empty
from rebalance_agent.cli.inputs.cluster_flags import add_cluster_flags, names_cluster
from rebalance_agent.cli.inputs.line_files import bounded_lines, open_input
from rebalance_agent.cli.inputs.raw_records import raw_json, raw_record
from rebalance_agent.cli.output_flag import add_output_flag
from rebalance_agent.cli.screens.decode_text import record_texts
from rebalance_agent.errors import DecodeError, InvalidInputError, RebalanceAgentError
from rebalance_agent.groupprotocol.record_json import record_json
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import RECORDS

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it

__all__ = ["LINE_BYTES_MAX", "add_parser", "run"]

LINE_BYTES_MAX = 16 * 1024 * 1024
"""Maximum number of bytes of an input line: base64 of a record twelve times as large as brokers accept by default (1
MiB)."""

KINDS = (*dict.fromkeys(table.kind for table in RECORDS.values()), "unknown")
"""The kinds of records, in the order of their key versions."""

_DESCRIPTION = """\
Prints records of __consumer_offsets as JSON, one object per record. It reads them from a cluster or a file.

Input from a file, one JSON object per line (base64 of the record's bytes; a value of null is a tombstone):

  {"key": "<base64>", "value": "<base64>" | null, "timestamp": 1700000000000}

Output, one object per record in the same order; fields have Kafka's names in snake case:

  kind              offset_commit, group_metadata (a classic group), consumer_group_..., share_group_...,
                    streams_group_...; "unknown" for a key version that this release does not support
  key_version, value_version, group, record_timestamp (epoch milliseconds); from a cluster also record_partition
                    and record_offset, the position in __consumer_offsets
  then the value's fields: generation, protocol_type, protocol, leader, current_state_timestamp, members ...
  members[].subscription   {version, topics, user_data, owned_partitions, generation_id, rack_id}
  members[].assignment     {version, partitions, user_data}
                           or {"raw": "<base64>"} if the bytes are not the consumer protocol
                           Kafka Streams (protocol "stream") adds process_id to a subscription, and to an assignment
                           active_tasks and standby_tasks, {"subtopology": [numbers]}, if its user data can be read
  tombstone: true          the value is null (value_version is null, too)
  unknown: true            the value has a version that this release does not support
  unknown_tags: n          n tagged fields were skipped (omitted if 0)
  error: "line n: ..."     the line does not have this form, or the bytes are malformed; other lines are decoded

Bytes are base64, topic ids are as Kafka prints them, partitions are {"topic": [numbers]}. Blank lines are skipped.
"""

_EPILOG = f"""\
exit codes:
  0  no errors (unknown versions are not errors)
  1  a record had an error, which is printed in its place; or the group has no records (without --since)
  2  a flag is wrong, the file or the topic cannot be read, or no broker responds

limits: a line of at most {LINE_BYTES_MAX} bytes.

examples:
  rebalance-agent decode --bootstrap-servers localhost:9092 --group orders --since 2026-05-04T09:00:00Z
  rebalance-agent decode --bootstrap-servers localhost:9092 --group orders --kind group_metadata --output table
  rebalance-agent decode --bootstrap-servers localhost:9092 --group orders --follow | jq -c '[.kind, .generation]'
  rebalance-agent decode records.ndjson | jq -c 'select(.members) | [.group, .generation, (.members | length)]'
"""


def add_parser(subparsers: Commands) -> None:
    """Add ``decode`` to the commands."""
    parser = add_command(subparsers, "decode", "print records of __consumer_offsets as JSON", _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="records as NDJSON; - (the default without a cluster) is standard input"
    )
    cluster = add_cluster_flags(parser, "read the topic of a cluster (requires the packages of the extra `agent`)")
    cluster.add_argument("--group", type=not_empty, metavar="GROUP", help="only the records of this group")
    cluster.add_argument(
        "--since", type=moment_ms, metavar="TIME", help="only records since this time: ISO 8601, or epoch milliseconds"
    )
    parser.add_argument(
        "--kind",
        type=OneOf(KINDS),
        metavar="KIND",
        action="append",
        help="only records of this kind, such as group_metadata; repeatable",
    )
    cluster.add_argument("--follow", action="store_true", help="wait for new records until Ctrl-C")
    cluster.add_argument(
        "--raw", action="store_true", help="print the bytes in base64, in the form that this command and `verify` read"
    )
    add_output_flag(parser, "table", csv_rows="record, without nested fields", default="json")
    parser.set_defaults(run=run, exit_codes={RebalanceAgentError: 2})


def run(args: argparse.Namespace) -> int:
    """Decode to standard output, line by line; ``--help`` lists the exit codes."""
    failed, empty = False, True

    def records() -> Iterator[dict[str, Any]]:
        nonlocal failed, empty
        for out in _of_cluster(args) if names_cluster(args) else _of_file(args):
            failed, empty = failed or "error" in out, False
            if not args.kind or out.get("kind", "error") in {*args.kind, "error"}:
                yield out

    if args.kind and args.raw:
        raise InvalidInputError("--kind", "cannot be combined with --raw, which prints all records")
    for text in record_texts(records(), args.output):
        print(text, flush=True)
    if empty and args.group is not None:
        print(f"rebalance-agent decode: {_without_records(args)}", file=sys.stderr)
        return 1 if args.since is None else 0
    return 1 if failed else 0


def _without_records(args: argparse.Namespace) -> str:
    settings = importlib.import_module("rebalance_agent.cli.inputs.cluster_settings")
    since = " from then on" if args.since is not None else ""
    return (
        f"the group {args.group!r} has no records{since}"
        f"{settings.similar_group(settings.cluster_settings(args)[1], args.group)}"
    )


def _of_cluster(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if args.file is not None:
        raise InvalidInputError("FILE", "cannot be combined with a cluster")
    if args.raw and args.output != "json":
        raise InvalidInputError("--output", "must be json with --raw")
    # Decoding files needs no other package than this one.
    source = importlib.import_module("rebalance_agent.cli.inputs.cluster_records")
    for raw in source.cluster_records(args):
        if args.since is not None and raw.timestamp < args.since:
            continue  # timestamps of a partition are not always in order
        position = {"record_partition": raw.partition, "record_offset": raw.offset}
        try:
            record = decode_record(raw.key, raw.value)
        except DecodeError as error:
            # The group of this record is unknown.
            yield raw_json(raw) if args.raw else {"error": f"partition {raw.partition}, offset {raw.offset}: {error}"}
            continue
        if args.group in (None, record.group):
            yield raw_json(raw) if args.raw else record_json(record, raw.timestamp) | position


def _of_file(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if args.group is not None or args.since is not None or args.follow or args.raw:
        raise InvalidInputError("--bootstrap-servers", "is missing: --group, --since, --follow and --raw need it")
    if args.file is None and sys.stdin.isatty():
        print(
            "rebalance-agent decode: waiting for records on standard input; --help describes their form",
            file=sys.stderr,
        )
    with open_input(args.file or "-") as file:
        for number, line in enumerate(bounded_lines(file, LINE_BYTES_MAX), 1):
            if line.isspace() and len(line) <= LINE_BYTES_MAX:
                continue
            try:
                yield _decode_line(line)
            except (DecodeError, InvalidInputError) as error:
                yield {"error": f"line {number}: {error}"}


def _decode_line(line: bytes) -> dict[str, Any]:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInputError("", f"longer than {LINE_BYTES_MAX} bytes")
    record = raw_record(line)
    return record_json(decode_record(record.key, record.value), record.timestamp)
