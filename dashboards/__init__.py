"""Grafana boards as Python, generated as JSON by ``python -m dashboards`` (``make dashboards``).

Each board is a package with its panels and a module `board`, which arranges them in rows. `parts` contains the parts of
boards as plain values; `grafana` renders them as Grafana's JSON with Grafana's own builders. Only needed to change
boards.
"""
