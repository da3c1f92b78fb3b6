"""``make judge``: compares stalls that consumers measured with the bounds that the observer published.

A run has three brokers, groups with many clients as processes that log their callbacks, faults, and two observers as a
user runs them. The true stalls are computed from the members' logs; records and the brokers' logs only supplement them,
for example if a group was Empty. This computation shares no code with the observer.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import warnings
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent / "agent"), str(TESTS)]
warnings.simplefilter("ignore", DeprecationWarning)

from judge.play.groups import GROUPS  # noqa: E402 - found by the path above
from judge.play.play import RunError, play  # noqa: E402
from judge.play.schedule import FAULTS  # noqa: E402
from judge.verdict.judgement import judge  # noqa: E402
from judge.verdict.report import show  # noqa: E402
from judge.verdict.summary import figures, summary  # noqa: E402
from rebalance_agent.testing import BrokerError  # noqa: E402

INTERRUPTED, UNPLAYED = 128 + signal.SIGINT, 2
EPILOG = """\
The folder of evidence (printed) has the members' lines, the records of the offsets topic, the events, the brokers' logs
and the reports report.md and report.json.
Exit code 0: no bound is false and no fact is wrong; 1: some are; 2: the run could not be
played; 130: Ctrl-C.

python tests/judge --minutes 3 --groups ck-range ck-cons --faults 'coordinator killed'
python tests/judge --seed 7 11 23                     three runs, and a summary of them
python tests/judge --minutes 8 --faults               a run in which brokers do not fail
python tests/judge --again FOLDER ...                 judge saved evidence once more, without a broker
python tests/judge --again FOLDER --case ck-range:8   one false bound, with its callbacks, records, commits and logs
"""


def main(arguments=None):
    """Run the judge; return the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _options(arguments)
    if options.case:
        return show(Path(options.again[0]), options.case)
    if options.again:
        folders = [Path(folder) for folder in options.again]
        base = folders[0].parent if len(folders) > 1 else folders[0]
        return _together({folder: judge(folder) for folder in folders}, base)
    base = Path(options.folder or tempfile.mkdtemp(prefix="judge-"))
    ended = {}
    for seed in options.seeds:
        options.seed = seed
        folder = base / str(seed) if len(options.seeds) > 1 else base
        ended[folder] = _run(options, folder)
        if ended[folder] == INTERRUPTED:
            break
    return _together(ended, base)


def _together(ended, base):
    """Print and write the summary of all runs (folder -> exit code); return the exit code of all of them."""
    judged = [folder for folder, code in ended.items() if code not in (INTERRUPTED, UNPLAYED)]
    worst = max(ended.values())
    print(*(f"judge: {folder}: exit code {code}" for folder, code in ended.items()), sep="\n")
    if not judged:
        return worst
    lines, wrong = summary(judged)
    (base / "summary.md").write_text("\n".join(lines) + "\n")
    (base / "summary.json").write_text(json.dumps(figures(judged), indent=1))
    print(*lines, f"\njudge: {len(judged)} runs: {len(wrong)} goals are missed: {base / 'summary.md'}", sep="\n")
    return worst


def _run(options, folder):
    """Play and judge one seed; return the exit code."""
    groups = [group for group in GROUPS if not options.groups or group.name in options.groups]
    folder.mkdir(parents=True, exist_ok=True)
    print(f"judge: seed {options.seed}, {options.minutes:g} minutes, {len(groups)} groups: {folder}", flush=True)
    try:
        play(options, groups, folder)
    except KeyboardInterrupt:
        print(f"judge: interrupted; the evidence so far is in {folder}")
        return INTERRUPTED
    except (BrokerError, RunError) as error:
        print(f"judge: the run could not be played: {error}; the evidence so far is in {folder}")
        return UNPLAYED
    return judge(folder)


def _options(arguments):
    parser = argparse.ArgumentParser(
        "python tests/judge", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=15, help="until no new change or fault begins (default 15)")
    parser.add_argument(
        "--seed",
        type=int,
        nargs="+",
        dest="seeds",
        default=[random.SystemRandom().randrange(1_000_000)],
        help="by default a new one each time, which is printed; several seeds are played one after the other",
    )
    names = [group.name for group in GROUPS]
    parser.add_argument("--groups", nargs="+", choices=names, metavar="GROUP", help=f"only these: {', '.join(names)}")
    parser.add_argument("--faults", nargs="*", choices=FAULTS, metavar="FAULT",
                        help=f"only these, or none; by default all: {', '.join(FAULTS)}")  # fmt: skip
    parser.add_argument("--folder", help="the folder for the evidence; by default a new one")
    parser.add_argument("--again", nargs="+", metavar="FOLDER", help="judge the evidence of former runs")
    parser.add_argument(
        "--case", metavar="GROUP:NUMBER", help="print a false bound of --again's report with its context"
    )
    options = parser.parse_args(arguments)
    if options.case and len(options.again or ()) != 1:
        parser.error("--case needs --again FOLDER")
    return options


if __name__ == "__main__":
    sys.exit(main())
