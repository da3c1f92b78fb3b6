"""``python -m alerts``: generate the files, or write rules with other thresholds to another folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from alerts.files import documents, rule_files
from alerts.values import ValuesError, load

HERE = Path(__file__).parent


def main() -> int:
    """Write the files. The exit status is 2 if a file of values is invalid, or a file cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m alerts", description=__doc__)
    parser.add_argument(
        "--values", type=Path, action="append", default=[], help="YAML file with values that override the defaults"
    )
    parser.add_argument("--out", type=Path, help="folder for rules/ and alertmanager/; no documentation is written")
    parser.add_argument("--placeholders", action="store_true", help="write ${ALERT.PARAMETER} instead of values")
    options = parser.parse_args()
    if not options.out and (options.values or options.placeholders):
        parser.error("--values and --placeholders need --out: the repository's files have the default values")
    try:
        values = load(*options.values)
    except (OSError, ValuesError) as error:
        parser.exit(2, f"{parser.prog}: {_why(error)}\n")
    files = {
        (options.out or HERE) / path: text
        for path, text in rule_files(values, placeholders=options.placeholders).items()
    }
    if not options.out:
        files |= {HERE.parent / path: text for path, text in documents(values).items()}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        parser.exit(2, f"{parser.prog}: {_why(error)}\n")
    return 0


def _why(error: OSError | ValuesError) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


if __name__ == "__main__":
    sys.exit(main())
