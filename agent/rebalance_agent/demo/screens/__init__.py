"""The demo's screens: live on a terminal (``rich``), plain lines elsewhere."""
