"""Soak: a real observer and broker for hours, while thousands of groups appear, rebalance and disappear.

``make soak ARGS="--hours 2 --groups 2000"``. `churn` writes what their coordinator would, `samples` looks at the
process, `slopes` says what grows and how surely, `page` writes the report, `run` ties them together and judges.
"""
