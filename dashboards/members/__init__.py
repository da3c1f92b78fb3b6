"""The board Members: reports of consumers from sidecars and gateways."""
