"""A collector of OTLP over HTTP on loopback."""
