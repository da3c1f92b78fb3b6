"""Measures speed and memory, compared with a peer or a bare loop in the same run; see ``python -m bench --help``."""
