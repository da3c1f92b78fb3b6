"""The stages of ``rebalance-agent pipeline``: one module per stage, with ``add_parser`` and ``run`` (the exit code).

``inputs.pipeline_flags`` has the flags and the progress that stages share.
"""
