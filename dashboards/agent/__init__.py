"""The Agent board: state of observers, sidecars and gateways."""
