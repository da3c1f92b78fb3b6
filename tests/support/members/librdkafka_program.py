"""librdkafka's consumer as a program, which can be killed: ``BOOTSTRAP GROUP TOPIC CLIENT_ID ASSIGNOR NAME=VALUE...``.

It prints the lines of `member_lines`, and ends at the end of standard input.
"""

from __future__ import annotations

import sys
import threading

from support.members.member_lines import LibrdkafkaMember


class Printing(LibrdkafkaMember):
    """A member that prints its lines."""

    lock = threading.Lock()

    def take_line(self, word, at_ms, *numbers):
        with self.lock:
            print(word, at_ms, *numbers, flush=True)


if __name__ == "__main__":
    bootstrap, group, topic, client_id, assignor, *more = sys.argv[1:]
    member = Printing(bootstrap, group, topic, client_id, assignor, **dict(each.split("=", 1) for each in more))
    sys.stdin.read()
    member.close()
