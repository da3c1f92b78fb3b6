"""The Helm chart `rebalance-agent`, and the generator of its files. Development only; users take the chart.

``python -m helm`` writes ``values.schema.json`` from ``values.yaml`` (its comments describe each value and, after
``@schema``, the allowed ones), and a copy of the alerts' rules, because a chart can read only its own files.
"""
