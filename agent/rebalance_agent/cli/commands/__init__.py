"""The commands of ``rebalance-agent``: one module each, with ``add_parser`` and ``run`` (the exit code)."""
