"""Grafana boards, written as Python and generated as JSON: ``python -m dashboards`` (``make dashboards``).

Each board is one module with a `Board` value; `panel`, `query` and `grid` say what boards are made of, and `render`
makes Grafana's JSON of them with Grafana's own builders. Only needed by who changes the boards.
"""
