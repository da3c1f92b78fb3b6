"""Soak: the real observer for hours beside a real broker, while thousands of groups come, rebalance and go.

``make soak ARGS="--hours 2 --groups 2000"``. `churn` writes what their coordinator would, `samples` looks at the
process, `slopes` says what grows and how surely, `page` writes the report, `run` ties them together and judges.
"""
