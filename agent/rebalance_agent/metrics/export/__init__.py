"""The text of /metrics: Prometheus and OpenMetrics formats, and the metrics that this process counts itself.

A scrape reads memory and never calls a broker.
"""
