"""Describes groups, and reads their committed offsets, until its input ends.

It is run as ``python -m rebalance_agent.cluster.describing.describing_process SECONDS``.

It reads librdkafka's properties from the first line of its input (a command line would expose secrets), and then
requests. It ends by itself after `IDLE_S` without a request: most observers describe groups only while they start.
"""

from __future__ import annotations

import ctypes
import json
import resource
import select
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.cluster.admin_answers import NO_ANSWER, AdminAnswers
from rebalance_agent.cluster.describing.answer_lines import END, answer_line, offsets_line
from rebalance_agent.cluster.describing.connection_errors import ConnectionErrors
from rebalance_agent.cluster.tokens.token_login import with_token_callback

__all__ = ["IDLE_S", "MEMORY_MAX", "answer_lines", "limit_memory", "serve"]

IDLE_S = 60.0

MEMORY_MAX = 192 * 2**20
"""Bytes that the process may allocate after its start. A group's record of 1 MB can name 220,000 partitions, for which
librdkafka and Python's client allocate some 400 bytes each. If the descriptions of several groups need more, librdkafka
aborts the process, and the parent asks for one group at a time."""

STACK_BYTES = 2**20
"""Stack of each thread, which counts as allocated: librdkafka has one thread for each broker."""

_ATTRIBUTES_BYTES = 256
"""More bytes than a ``pthread_attr_t`` has on any platform."""


def serve(requests: BinaryIO, answers: BinaryIO, timeout: float) -> None:
    """Answer each of ``requests`` within ``timeout`` seconds, until they end or no request comes for `IDLE_S`.

    `END` also confirms the properties: a second line in the buffer of ``requests`` would not be detected.
    """
    properties: dict[str, Any] = json.loads(requests.readline())
    errors = ConnectionErrors(properties.get("security.protocol", ""))
    callback: dict[str, Any] = {"error_cb": errors}
    admin = AdminClient({**callback, **with_token_callback(properties)})
    _write(answers, [END])
    while select.select([requests], [], [], IDLE_S)[0] and (request := requests.readline()):
        _write(answers, [*answer_lines(admin, AdminAnswers(timeout), json.loads(request), errors), END])


def answer_lines(
    admin: Any,  # noqa: ANN401 - the client's types have no annotations
    ask: AdminAnswers,
    request: Mapping[str, Any],
    errors: ConnectionErrors,
) -> Iterator[bytes]:
    """Yield a line for each group of ``request``. ``errors``: the errors of the client's connections."""
    if request.get("offsets"):
        encoded, answers = offsets_line, ask(partial(_committed, admin), request["groups"])
    else:
        options = {"include_authorized_operations": True} if request["operations"] else {}
        encoded, answers = answer_line, ask(admin.describe_consumer_groups, request["groups"], **options)
    admin.poll(0)
    if not all(map(_unanswered, answers.values())):
        errors.answered()
    for group, future in answers.items():
        yield encoded(group, future, errors.text)


def _unanswered(answer: Future[Any]) -> bool:
    error = answer.exception()
    return isinstance(error, KafkaException) and error.args[0].code() in NO_ANSWER


def _committed(admin: Any, groups: Sequence[str], request_timeout: float) -> dict[str, Future[Any]]:  # noqa: ANN401
    # librdkafka accepts one group per request; the requests are sent in parallel.
    ask = partial(admin.list_consumer_group_offsets, request_timeout=request_timeout)
    return {name: ask([ConsumerGroupTopicPartitions(name)])[name] for name in groups}


def _write(answers: BinaryIO, lines: list[bytes]) -> None:
    answers.writelines(lines)
    answers.flush()


def limit_memory() -> None:
    """Limit the memory of this process, and the stacks of its later threads."""
    if sys.platform != "linux":
        return
    attributes = ctypes.create_string_buffer(_ATTRIBUTES_BYTES)
    with suppress(AttributeError):  # other C libraries than glibc have smaller stacks
        library = ctypes.CDLL(None)
        library.pthread_getattr_default_np(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK_BYTES))
        library.pthread_setattr_default_np(attributes)
    data_pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
    limit = data_pages * resource.getpagesize() + MEMORY_MAX
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    limit_memory()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a tenant can make it abort: core dumps must not fill the disk
    serve(sys.stdin.buffer, sys.stdout.buffer, float(sys.argv[1]))
