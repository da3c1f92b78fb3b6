"""The stages of ``rebalance-agent pipeline``: one module each, with ``add_parser`` and ``run``."""
