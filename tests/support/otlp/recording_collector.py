"""A collector for a process of its own: it writes each span to a file before it answers, so spans survive its kill.

``python -m support.otlp.recording_collector PORT FILE``
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.otlp.collector import Collector, attributes_of


class RecordingCollector(Collector):
    """Accepts each export; appends a line per span to ``path``, also if several connections send at once."""

    def __init__(self, path, port=0):
        super().__init__(port=port)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def take(self, path, headers, body):
        status = super().take(path, headers, body)
        while self.requests:
            text = "".join(json.dumps(line) + "\n" for line in lines(self.requests.pop()))
            # The new line at the beginning ends a line that an earlier process could not complete.
            os.write(self._file, f"\n{text}".encode())
        return status


def lines(request):
    """A line for each span of a request: its ids, name, process and event, and a digest of the whole span."""
    for resource in request.resource_spans if isinstance(request, ExportTraceServiceRequest) else ():
        process = attributes_of(resource.resource).get("service.instance.id")
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            yield {
                "trace": span.trace_id.hex(),
                "span": span.span_id.hex(),
                "name": span.name,
                "process": process,
                "event": attributes_of(span).get("kafka.rebalance.event_id"),
                "digest": hashlib.sha256(span.SerializeToString(deterministic=True)).hexdigest(),
            }


def main():
    """Serve until the process is killed."""
    port, path = sys.argv[1:]
    with RecordingCollector(path, int(port)):
        threading.Event().wait()


if __name__ == "__main__":
    main()
