"""A member of a share group, in a process: ``python -m chaos.members.share_member JSON``; see `callback_lines`.

It owns no partitions, and so has no callbacks to report.
"""

from __future__ import annotations

from chaos.members.callback_lines import act_as
from support.members.java_share_member import read_shared


def run(config, polls, stop):
    """Read records until ``stop``; then leave."""
    read_shared(config["bootstrap"], config["group"], config["topic"], config["name"], polls.say, stop)


if __name__ == "__main__":
    act_as(run)
