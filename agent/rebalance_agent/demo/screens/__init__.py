"""The demo's screens: live on a terminal, plain lines elsewhere."""
