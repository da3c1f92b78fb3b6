"""A bounded HTTP server: connections, TLS, bearer tokens, rate limits, readiness. It knows no Kafka and no metric.

The only package that imports ``cheroot``, whose server and workers ``server`` bounds.
"""
