"""The text of /metrics: Prometheus and OpenMetrics formats, and the metrics that this process counts itself.

- ``groups_page``, ``lag_page``, ``baselines_page``: the text of groups, kept from scrape to scrape; ``text`` and
  ``dialects`` write it, ``group_texts`` bounds its bytes.
- ``agent_metrics``, ``member_metrics``, ``phase_metrics``: what this process counts; ``instruments`` creates counters
  for rows of the catalogue.
- ``member_collector``: the metrics of a process's own consumers, for ``prometheus_client``'s registries.
- ``clients_seen``: the consumers that report to a sidecar, for its page and metrics.
- ``parsed_text``: parses the text of a /metrics page.

A scrape reads memory and never calls a broker. This is the only package that imports ``prometheus_client``.
"""
