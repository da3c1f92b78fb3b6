"""A consumer of a Python client as a program, which can be killed.

Arguments: ``CLIENT BOOTSTRAP GROUP TOPIC CLIENT_ID ASSIGNOR NAME=VALUE...``. It prints the lines of `member_lines`, and
ends at the end of standard input.
"""

from __future__ import annotations

import sys
import threading

from support.gateway.gateway_members import AiokafkaMember, KafkaPythonMember
from support.members.member_lines import LibrdkafkaMember

CLIENTS = {"librdkafka": LibrdkafkaMember, "kafka-python": KafkaPythonMember, "aiokafka": AiokafkaMember}
LOCK = threading.Lock()


def printing(client):
    """The client's member, as a class that prints its lines."""

    class Printing(client):
        def take_line(self, word, at_ms, *numbers):
            super().take_line(word, at_ms, *numbers)  # a member that closes prints what it still owns
            with LOCK:
                print(word, at_ms, *numbers, flush=True)

    return Printing


if __name__ == "__main__":
    client, *place, assignor = sys.argv[1:7]
    member = printing(CLIENTS[client])(*place, assignor, **dict(each.split("=", 1) for each in sys.argv[7:]))
    sys.stdin.read()
    member.close()
