"""Speed and memory, measured beside a peer or a bare loop in the same run. ``python -m bench --help``."""
