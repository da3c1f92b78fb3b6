"""``python -m docs.developers.site [--folder FOLDER]``: build the site, and check the links of its pages.

This Python has the packages of ``requirements/site.lock``. A warning of Sphinx is an error. The exit code is 1 after a
warning or a broken link, otherwise 0.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.developers.site.built_links import broken_links
from docs.developers.site.nav import INDEX, ROOT

HOME = Path(INDEX).with_suffix(".html").as_posix()

REDIRECT = f"""\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>kafka-rebalance-agent</title>
<meta http-equiv="refresh" content="0; url={HOME}"></head><body><a href="{HOME}">Documentation</a></body></html>
"""
"""The page at the site's root, which leads to the index."""


def write_pages(folder: Path) -> int:
    """Run Sphinx; return its exit code.

    All pages are parsed again: an unchanged page would otherwise keep its place in the navigation.
    """
    with tempfile.TemporaryDirectory() as parsed:
        options = ("-q", "-W", "--keep-going", "-b", "html", "-d", parsed, "-c", str(Path(__file__).parent))
        command = [sys.executable, "-m", "sphinx", *options, str(ROOT), str(folder)]
        return subprocess.run(command, check=False).returncode


def build(folder: Path) -> int:
    """Build the site into ``folder``; return the exit code."""
    shutil.rmtree(folder, ignore_errors=True)
    if write_pages(folder):
        return 1
    (folder / "index.html").write_text(REDIRECT, encoding="utf-8")
    broken = list(broken_links(folder))
    print(*broken, sep="\n", end="\n" if broken else "", file=sys.stderr)
    return 1 if broken else 0


def main() -> int:
    """Build the site and check its links; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "dist" / "site", help="where (default dist/site)")
    arguments = parser.parse_args()
    code = build(arguments.folder)
    if not code:
        print(f"Open this page in a browser: {arguments.folder / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
