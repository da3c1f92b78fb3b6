"""A bounded HTTP server: connections, TLS, bearer tokens, rate limits, readiness. It knows no Kafka and no metric.

It is the only package that imports ``h11``.

- ``server``: `HttpServer`, around an application; ``messages``: the `Request` and `Response` that it deals in.
- ``exchange``: one request, whose head h11 parses, and the bytes of its answer.
- ``connections``: those of all clients, which take turns on few threads, and within bounds of memory.
- ``server_tls``, ``reloaded_files``: the server's TLS context, created again when its files change.
- ``bearer``, ``loopback``, ``token_bucket``: which requests are allowed, and how many a second.
- ``events_post``: path and headers of the posts of a consumer to its sidecar.
- ``health``: which parts of the process work; ``latched_readiness``: whether its clients were ready once.
"""
