"""The text of /metrics: Prometheus and OpenMetrics formats, and the metrics that this process counts itself.

- ``groups_page``, ``lag_page``, ``baselines_page``: the text of groups, kept from scrape to scrape; ``text`` and
  ``dialects`` write it, ``group_texts`` bounds its bytes.
- ``agent_metrics``, ``member_metrics``, ``phase_metrics``: what this process counts; ``instruments`` makes the counters
  of catalogue rows.
- ``member_collector``: the metrics of a process's own consumers, for ``prometheus_client``'s registries.
- ``clients_seen``: the consumers that report to a sidecar, for its page and metrics.
- ``parsed_text``: reads such a text back.

A scrape reads memory and never calls a broker. The only package that imports ``prometheus_client``.
"""
