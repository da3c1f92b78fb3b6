"""A bounded HTTP server: connections, TLS, bearer tokens, rate limits, readiness. It knows no Kafka and no metric.

It is the only package that imports ``h11``.

- ``server``: `HttpServer`, around an application; ``messages``: the `Request` and `Response` that it deals in.
- ``exchange``: one request, parsed by h11, and its answer.
- ``connections``: threads take turns to wait for all connections; each answers the request it read.
- ``open_connections``: what the waiting thread does with each ``connection``: accept, read a head, end.
- ``server_tls``, ``reloaded_files``: the server's TLS context, made anew when its files change.
- ``bearer``, ``loopback``, ``token_bucket``: which requests are allowed, and how many a second.
- ``health``: which parts of the process work.
"""
