"""Soak: a real observer and broker for hours, while thousands of groups appear, rebalance and disappear.

``make soak ARGS="--hours 2 --groups 2000"``. `churn` writes the coordinator's records, `samples` measures the process,
`slopes` detects growth with its confidence, `page` writes the report, `run` combines them and decides.
"""
