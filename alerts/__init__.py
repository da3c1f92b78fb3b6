"""Alerts on the agent's metrics, and the generator of their files. For development; users need only the files.

``python -m alerts`` writes ``rules/``, ``alertmanager/`` and ``docs/alerts.md`` from ``values.yaml`` (every threshold)
and the alerts in ``rebalances``, ``stalls``, ``assignments`` and ``agent`` (every expression).
"""
