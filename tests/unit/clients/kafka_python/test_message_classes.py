"""kafka-python's response classes, and what the tests do about them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from support.members.message_classes import REGISTERED, create_message_classes

TWO_THREADS = """
import gc
from types import SimpleNamespace
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.consumer import FetchResponse
stored_last = FetchResponse[3]
del FetchResponse._VERSIONS[3]
FetchResponse[3]  # of another thread, registered last
FetchResponse._VERSIONS[3] = stored_last
gc.collect()
try:
    ResponseClassRegistry.get_response_class(SimpleNamespace(request_api_key=1, request_api_version=3))
except ReferenceError:
    print("lost")
"""


def test_kafka_python_loses_a_response_class_that_two_threads_create_at_once():
    """If this fails, kafka-python has mended it, and `support.members.message_classes` is no longer needed."""
    command = [sys.executable, "-W", "ignore", "-c", TWO_THREADS]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "lost\n"


def test_classes_that_exist_before_the_threads_are_kept():
    create_message_classes()

    def versions(response):
        return [response[version] for version in range(response.min_version, response.max_version + 1)]

    with ThreadPoolExecutor(4) as threads:
        first, second = (list(threads.map(versions, list(REGISTERED.values()))) for _ in range(2))
    assert first == second
    assert all(response.mro()[0] in kept for response, kept in zip(REGISTERED.values(), first, strict=True))
