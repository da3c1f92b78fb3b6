"""The commands of ``rebalance-agent``. Each module has ``add_parser`` and ``run``, which returns the exit code."""
