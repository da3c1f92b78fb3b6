"""Alerts on what the agent exports: data, and what is written from it. Development only; users take the files.

``python -m alerts`` writes ``rules/``, ``alertmanager/`` and ``docs/alerts.md`` from ``values.yaml`` (every threshold)
and the alerts in ``rebalances``, ``stalls``, ``assignments`` and ``agent`` (every expression).
"""
