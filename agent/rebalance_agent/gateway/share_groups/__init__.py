"""Observes share groups (KIP-932) in the frames of their consumers: deliveries, acknowledgements and lock renewals.

- ``share_frames``: reads the frames of one connection; they are never changed.
- ``share_counters``: counts records by group, for /metrics.
- ``delivery_reports``: publishes the sums of each group, for observers.
"""
