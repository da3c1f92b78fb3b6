"""``rebalance-agent assign``: computes the assignment of a group given as JSON, and its quality."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from rebalance_agent.assignors import STRATEGIES, Strategy, find_strategy, judge, strategy
from rebalance_agent.assignors.internal_topics import prepare
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.cli.command_parser import AnyText, add_command
from rebalance_agent.cli.inputs.assign_io import group_from_json, result_to_json, setting_text
from rebalance_agent.cli.inputs.json_fields import INPUT_BYTES_MAX, parse_json
from rebalance_agent.cli.inputs.line_files import bounded_lines, open_input
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.cli.screens.assign_text import CSV_COLUMNS, assign_table, csv_rows
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["add_parser", "run"]

EXIT_FOUND = 1

INPUT_HELP = """\
input, one group (a ? after a key: the key is optional, and is written without the ?):
  {"topics": {"t": {"partitions": 5, "racks"?: [["r1", "r2"], ...], "loads"?: [1.5, ...]}},
   "members": [{"id": "m1", "topics": ["t"], "instance_id"?: "i1", "owned"?: {"t": [0, 1]}, "generation"?: 3,
                "rack"?: "r1", "standbys"?: {"t": [2]}, "user_data"?: "<base64>",
                "config"?: {"assignment.consumer.weight": 900}}],
   "config"?: {"assignment.redundancy": 2}}

  The group's config has the settings of all members, and a member's config has the member's own settings. Both
  override --config. A member's user_data overrides the member's config; owned, generation and standbys override
  user_data.

output:
  "assignment"  the partitions that each member gets in this rebalance
  "revoking"    cooperative only: the partitions that each member gets in the follow-up rebalance, after their current
                owners have revoked them
  "quality"     of "assignment" and "revoking" together; null: not applicable
  "standbys"    the standby copies of each member
"""

EXAMPLES = """\
examples:
  rebalance-agent assign --strategy weighted-sticky --output table group.json
  rebalance-agent assign --strategy sticky --protocol cooperative --ndjson - < groups.ndjson

quality: --output table shows the meaning of each value, and leaves out values that do not apply.

exit codes: 0 done, 1 an invalid line (with --ndjson), 2 wrong usage or input
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command's arguments."""
    parser = add_command(
        subparsers,
        "assign",
        "compute an assignor's assignment for a group, and measure its quality",
        "Reads a group as JSON, and prints an assignor's assignment and its quality.",
        f"{INPUT_HELP}\nstrategies (`rebalance-agent strategies` lists their guarantees and settings, and other "
        "packages' strategies):\n"
        + textwrap.fill(", ".join(STRATEGIES), 99, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        + f"\n\n{EXAMPLES}",
    )
    parser.add_argument("file", metavar="FILE", help="file with the group; - for standard input")
    parser.add_argument(
        "--strategy",
        type=AnyText(STRATEGIES),
        metavar="NAME",
        required=True,
        help="the assignor's protocol name, as members send it",
    )
    parser.add_argument(
        "--config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="assignor setting for members that do not set it themselves; repeatable",
    )
    parser.add_argument(
        "--protocol",
        choices=[RebalanceProtocol.EAGER.value, RebalanceProtocol.COOPERATIVE.value],
        help="the assignor's rebalance protocol (default: eager if it has an eager form)",
    )
    parser.add_argument(
        "--ndjson",
        action="store_true",
        help='read one group per line and print one result per line, with the same "id"; an invalid line yields '
        '{"error": ...} and exit code 1',
    )
    add_output_flag(parser, "table", csv_rows="partition of a member", default="json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command. Return 0: done, 1: some lines were invalid (``--ndjson``), or 2: wrong usage or input."""
    chosen = _choose(args.strategy, args.protocol)
    config = _config(chosen, args.config)
    if args.ndjson and args.output != "json":
        raise InvalidInputError("--output", "must be json with --ndjson")
    with open_input(args.file) as stream:
        if args.ndjson:
            return _answer_lines(chosen, config, stream)
        _print(_answer(chosen, config, parse_json(stream.read(INPUT_BYTES_MAX + 1))), args.output)
    return 0


def _choose(name: str, protocol: str | None) -> Strategy:
    chosen = strategy(name)
    if protocol is None or protocol == chosen.protocol:
        return chosen
    if protocol == RebalanceProtocol.COOPERATIVE and (form := find_strategy(COOPERATIVE_PREFIX + name)) is not None:
        return form
    raise InvalidInputError("--protocol", f"{name} has no {protocol} form")


def _config(chosen: Strategy, pairs: Sequence[str]) -> dict[str, str]:
    settings = {setting.name: setting for setting in chosen.config}
    config = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInputError("--config", f"{pair[:80]!r} is not KEY=VALUE")
        if name not in settings:
            offer = f"it has {', '.join(settings)}" if settings else "it has none"
            raise InvalidInputError("--config", f"{chosen.name} has no setting {name[:80]!r}; {offer}")
        config[name] = setting_text(f"--config {name}", settings[name], value)
    return config


def _answer(chosen: Strategy, config: Mapping[str, str], data: object) -> dict[str, object]:
    identity = _identity(data)
    group = prepare(chosen, group_from_json(data, config))
    assignment = chosen.assign(group)
    cooperative = chosen.protocol is RebalanceProtocol.COOPERATIVE
    return identity | result_to_json(assignment, judge(group, assignment, chosen), cooperative=cooperative)


def _answer_lines(chosen: Strategy, config: Mapping[str, str], stream: BinaryIO) -> int:
    code = 0
    for line in bounded_lines(stream, INPUT_BYTES_MAX):
        data: object = None
        try:
            data = parse_json(line)
            result = _answer(chosen, config, data)
        except (AssignmentError, InvalidInputError) as error:
            code = EXIT_FOUND
            result = {**_readable_identity(data), "error": str(error)}
        _print(result)
    return code


def _identity(data: object) -> dict[str, object]:
    if not isinstance(data, dict) or "id" not in data:
        return {}
    identity = data["id"]
    if identity is not None and not isinstance(identity, (str, int, float)):
        raise InvalidInputError("id", "must be text or a number")
    return {"id": identity}


def _readable_identity(data: object) -> dict[str, object]:
    try:
        return _identity(data)
    except InvalidInputError:
        return {}


def _print(result: Mapping[str, object], form: str = "json") -> None:
    # Each line is flushed, because a caller that writes one group at a time waits for the answer.
    print(_written(json.dumps(result, sort_keys=True), form), flush=True)


def _written(text: str, form: str) -> str:
    """Return the JSON ``text`` of a result in the chosen form."""
    if form == "json":
        return text
    result = json.loads(text)
    if form == "table":
        return assign_table(result)
    return as_csv(CSV_COLUMNS, csv_rows(result)) if form == "csv" else as_text(result, form)
