"""Grafana boards as Python, generated as JSON by ``python -m dashboards`` (``make dashboards``).

Each board is one module with a `Board` value. `panel`, `query` and `grid` define the parts of boards; `render` makes
Grafana's JSON with Grafana's own builders. Needed only to change the boards.
"""
