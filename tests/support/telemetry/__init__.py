"""Client telemetry (KIP-714): pushed metrics and requests of clients."""
