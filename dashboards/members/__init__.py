"""The Members board: reports of consumers from sidecars and gateways."""
