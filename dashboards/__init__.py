"""Grafana boards as Python, generated as JSON by ``python -m dashboards`` (``make dashboards``).

Each board is a package: its rows of panels, and a module `board`, which lays them out. `parts` contains the parts of
boards as plain values; `grafana` renders them as Grafana's JSON with Grafana's own builders. Needed only to change
boards.
"""
