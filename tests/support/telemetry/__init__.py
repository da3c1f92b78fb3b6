"""What clients push by client telemetry (KIP-714), and their requests."""
