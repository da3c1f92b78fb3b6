"""Writes /metrics in Prometheus and OpenMetrics formats, and counts the metrics of this process.

- ``groups_page``, ``lag_page``, ``baselines_page``: keep the text of groups from scrape to scrape; ``text`` and
  ``dialects`` write this text, and ``group_texts`` limits its bytes.
- ``agent_metrics``, ``member_metrics``, ``phase_metrics``: count the metrics of this process; ``instruments`` creates
  the instruments for rows of the catalogue.
- ``member_collector``: exports the metrics of a process's own consumers through ``prometheus_client``'s registries.
- ``clients_seen``: stores the consumers that report to a sidecar, for the sidecar's page and metrics;
  ``owned_partitions``: stores these consumers' partitions.
- ``parsed_text``: parses the text of a /metrics page.

A scrape reads memory and never calls a broker. No other package imports ``prometheus_client``.
"""
