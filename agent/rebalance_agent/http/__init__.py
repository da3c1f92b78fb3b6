"""A bounded HTTP server, with connections, TLS, bearer tokens, rate limits and readiness.

This package does not depend on Kafka or on metrics. Only this package imports ``h11``.

- ``server``: defines `HttpServer`, which serves an application; ``messages``: defines `Request` and `Response`.
- ``exchange``: handles one request, whose head h11 parses, and produces the bytes of the response.
- ``connections``: handles the connections of all clients on few threads and with bounded memory.
- ``server_tls``: creates the server's TLS context; ``reloaded_files``: reads files again when they change.
- ``bearer``, ``loopback``, ``token_bucket``: decide which requests are allowed, and how many per second.
- ``timed_response``: bounds the time in which a client of other HTTP servers reads a response.
- ``events_post``: defines the path and headers of the POST requests that a consumer sends to its sidecar.
- ``health``: reports which parts of the process work; ``latched_readiness``: reports whether the clients beside the
  process were ready at least once.
"""
