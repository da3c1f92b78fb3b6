"""The stages of ``rebalance-agent pipeline``. Each module has ``add_parser`` and ``run``, which returns the exit code.

``inputs.pipeline_flags`` defines the flags that the stages share, and prints their progress.
"""
