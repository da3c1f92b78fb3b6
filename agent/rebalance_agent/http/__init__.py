"""A bounded HTTP server: connections, TLS, bearer tokens, rate limits, readiness. It knows no Kafka and no metric."""
