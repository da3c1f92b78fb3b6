"""``make sbom`` and ``make audit``: bills of materials, and known vulnerabilities of Python packages.

The audit covers ``requirements/*.lock``. Java, npm and Go have their own locks: see docs/reference/supply-chain.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent / "agent"), str(TESTS)]

from supply.audit import ask, verdict  # noqa: E402 - found by the path above
from supply.bills import write_bills  # noqa: E402
from supply.locks import locked, names  # noqa: E402
from supply.programs import UnavailableError, python  # noqa: E402

NO_TOOLS = 4

EPILOG = """\
Exit codes: 0, nothing is known; 1, something is; 3, the database could not be asked about all of them, or none is
locked; 4, the tools cannot be installed. make says them ("Error 3"), and ends with its own.

Other options of `audit` are pip-audit's:

make audit ARGS="--vulnerability-service osv --ignore-vuln CVE-..."
"""


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("what", choices=["sbom", "audit"])
    parser.add_argument("--folder", type=Path, default=Path("dist"), help="where bills are written (default dist)")
    options, others = parser.parse_known_args(arguments)
    if others and options.what == "sbom":
        parser.error(f"unknown: {' '.join(others)}")
    try:
        tools = python()
    except UnavailableError as error:
        print(f"{options.what}: {error}", file=sys.stderr)
        return NO_TOOLS
    if options.what == "sbom":
        print(*write_bills(tools, options.folder), sep="\n")
        return 0
    versions = [(each.name, each.version) for name in names() for each in locked(name)]
    code, lines = verdict(versions, ask(tools, versions, others))
    print(*lines, sep="\n", file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
