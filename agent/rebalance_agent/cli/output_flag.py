"""The flag ``--output`` of commands with a result, and the forms of results for programs: JSON, YAML and CSV."""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rebalance_agent.ui.words import printable, table_text

__all__ = ["add_output_flag", "as_csv", "as_text", "csv_lines", "summary_text"]

_FORMULAS = ("=", "+", "-", "@")
"""Characters that make spreadsheets evaluate a cell if the cell begins with one of them."""


def add_output_flag(
    parser: argparse.ArgumentParser, shown: str, *, csv_rows: str, json_help: str = "", default: str = ""
) -> None:
    """Add ``--output`` and its short form ``--json``.

    ``shown``: the name of the form for people, ``table`` or ``text``. This form is the default, unless ``default``
    names another form. ``csv_rows``: what a line of CSV describes.
    """
    forms = (shown, "json", "yaml", "csv")
    default = default or shown
    parser.add_argument(
        "--output",
        choices=forms,
        default=default,
        metavar="FORM",
        help=f"one of {', '.join(forms)} (default {default}); csv: one line for each {csv_rows}",
    )
    parser.add_argument(
        "--json", dest="output", action="store_const", const="json", help=json_help or argparse.SUPPRESS
    )


def as_text(value: object, form: str, indent: int | None = None) -> str:
    """Return a JSON-ready ``value`` as ``json`` (with ``indent``) or ``yaml``, without a line break at the end.

    Raises:
        ModuleNotFoundError: ``form`` is ``yaml`` and its package is missing; the extra ``agent`` installs the package.
    """
    text = json.dumps(value, indent=indent)
    if form == "json":
        return text
    import yaml  # noqa: PLC0415 - commands without extras write the other forms

    return str(yaml.safe_dump(json.loads(text), sort_keys=False, width=120)).removesuffix("\n")


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return the rows as CSV (RFC 4180). Dots in ``columns`` select values of nested objects; absent values are empty.

    Group names are untrusted input, so a text that a spreadsheet would evaluate gets a leading apostrophe.
    """
    return "\n".join(csv_lines(columns, rows))


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the lines of `as_csv`, each as soon as ``rows`` yields its row."""
    yield _csv_line(columns)
    for row in rows:
        yield _csv_line([_cell(_value(row, column)) for column in columns])


def summary_text(summary: Mapping[str, object], form: str) -> str:
    """Return the result of a run in the chosen form. Names of nested values have dots in a table and in CSV.

    In a table, "-" means that a value is unknown, does not apply, or is empty.
    """
    if form == "csv":
        return as_csv([name for name, _ in _flat(summary)], [summary])
    if form == "table":
        return table_text(("RESULT", "VALUE"), [(name, str(_cell(value)) or "-") for name, value in _flat(summary)])
    return as_text(summary, form)


def _flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _csv_line(cells: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


def _value(row: object, column: str) -> object:
    for name in column.split("."):
        row = row.get(name) if isinstance(row, Mapping) else None
    return row


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}" if text.startswith(_FORMULAS) else text
    if isinstance(value, list | tuple):
        return _cell(" ".join(map(str, value)))
    return "" if value is None else value
