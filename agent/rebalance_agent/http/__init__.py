"""A bounded HTTP server: connections, TLS, bearer tokens, rate limits, readiness.

The package does not depend on Kafka or on metrics. It is the only package that imports ``h11``.

- ``server``: defines `HttpServer`, which serves an application; ``messages``: defines `Request` and `Response`.
- ``exchange``: handles one request, whose head h11 parses, and produces the bytes of the response.
- ``connections``: handles the connections of all clients on few threads and with bounded memory.
- ``server_tls``, ``reloaded_files``: the server's TLS context, created again when its files change.
- ``bearer``, ``loopback``, ``token_bucket``: decide which requests are allowed, and how many per second.
- ``events_post``: defines the path and headers of the POST requests that a consumer sends to its sidecar.
- ``health``: reports which parts of the process work; ``latched_readiness``: reports whether the clients beside the
  process were ready at least once.
"""
