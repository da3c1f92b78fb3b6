"""Grafana boards as Python, generated as JSON by ``python -m dashboards`` (``make dashboards``).

Each board is a package: its rows of panels, and a module `board`, which lays them out. `parts` has what boards are made
of, as plain values; `grafana` makes Grafana's JSON of it with Grafana's own builders. Needed only to change boards.
"""
