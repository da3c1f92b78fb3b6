"""The Helm chart `rebalance-agent`, and the generator of its files. Development only; users take the chart.

``python -m helm`` writes ``values.schema.json`` from ``values.yaml`` (its comments say what each value is, and after
``@schema`` what it may be), and copies of the alerts' rules and the boards, which a chart can only read from itself.
"""
