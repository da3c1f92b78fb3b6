"""``make judge``: what consumers lived through, and what the observer says of it.

Three brokers, groups of many clients as processes that note their callbacks, faults, and two observers as a user runs
them. The truth is computed from the members' notes alone. The judge shares no code with what it judges.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import warnings
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent / "agent"), str(TESTS)]
warnings.simplefilter("ignore", DeprecationWarning)

from judge.play.brokers import FAULTS  # noqa: E402 - found by the path above
from judge.play.groups import GROUPS  # noqa: E402
from judge.play.play import play  # noqa: E402
from judge.verdict.judgement import judge  # noqa: E402

INTERRUPTED = 128 + signal.SIGINT
EPILOG = """\
The folder of evidence (printed) has the members' lines, the records of the offsets topic, the events, the brokers' logs
and the reports report.md and report.json.
Exit code 0: no bound is false and no fact is wrong; 1: some are; 130: Ctrl-C.

python tests/judge --minutes 3 --groups ck-range ck-cons --faults 'coordinator killed'
python tests/judge --again FOLDER     judge saved evidence once more, without a broker
"""


def main(arguments=None):
    """Run; the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _options(arguments)
    if options.again:
        return judge(Path(options.again))
    groups = [group for group in GROUPS if not options.groups or group.name in options.groups]
    folder = Path(options.folder or tempfile.mkdtemp(prefix="judge-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"judge: seed {options.seed}, {options.minutes:g} minutes, {len(groups)} groups; evidence in {folder}",
        flush=True,
    )
    try:
        play(options, groups, folder)
    except KeyboardInterrupt:
        print(f"judge: interrupted; what there is of the evidence is in {folder}")
        return INTERRUPTED
    return judge(folder)


def _options(arguments):
    parser = argparse.ArgumentParser(
        "python tests/judge", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=15, help="until nothing new begins (default 15)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000),
                        help="by default another one each time; it is printed")  # fmt: skip
    names = [group.name for group in GROUPS]
    parser.add_argument("--groups", nargs="+", choices=names, metavar="GROUP", help=f"only these: {', '.join(names)}")
    parser.add_argument("--faults", nargs="*", choices=tuple(FAULTS), metavar="FAULT",
                        help=f"only these, or none: {', '.join(FAULTS)}")  # fmt: skip
    parser.add_argument("--folder", help="where the evidence goes; by default a new folder")
    parser.add_argument("--again", metavar="FOLDER", help="judge the evidence of a former run")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
