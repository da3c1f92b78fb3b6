"""The board Agent: state of observers, sidecars and gateways."""
