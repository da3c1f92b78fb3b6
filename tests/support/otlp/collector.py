"""A collector that decodes what it receives with OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Collector", "attributes_of"]

_MESSAGES = {"/v1/metrics": ExportMetricsServiceRequest, "/v1/traces": ExportTraceServiceRequest}


class Collector:
    """Responds to each export with the next of ``statuses``, then with 200; stores accepted exports. A context
    manager."""

    def __init__(self, *statuses, port=0):
        self.statuses, self.requests, self.headers = list(statuses), [], []
        self._changed = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(collector.take(self.path, self.headers, body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_arguments):
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def port(self):
        return self._server.server_port

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(self, *_error):
        self._server.shutdown()
        self._server.server_close()

    def take(self, path, headers, body):
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = _MESSAGES[path].FromString(body)
        with self._changed:
            status = self.statuses.pop(0) if self.statuses else 200
            self.headers.append(dict(headers))
            if status == 200:
                self.requests.append(request)
            self._changed.notify_all()
        return status

    def wait_for(self, condition, seconds=30):
        """Wait until ``condition`` of this collector holds."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self), seconds), self.requests

    def spans(self):
        """Every span received, in order."""
        return [
            span
            for request in self.requests
            if isinstance(request, ExportTraceServiceRequest)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metrics(self):
        """Name -> (type of the data, its last received points)."""
        return {
            metric.name: (metric.WhichOneof("data"), list(getattr(metric, metric.WhichOneof("data")).data_points))
            for request in self.requests
            if isinstance(request, ExportMetricsServiceRequest)
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def resources(self):
        """The attributes of each resource received."""
        return [
            attributes_of(resource.resource)
            for request in self.requests
            for resource in (
                request.resource_spans if isinstance(request, ExportTraceServiceRequest) else request.resource_metrics
            )
        ]


def attributes_of(message):
    """The attributes of a message as a dict."""
    return {each.key: _value(each.value) for each in message.attributes}


def _value(value):
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)
