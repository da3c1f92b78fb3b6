"""Measures speed and memory beside a peer or a bare loop in the same run; see ``python -m bench --help``."""
