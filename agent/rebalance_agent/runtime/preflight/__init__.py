"""``rebalance-agent check``: proves, one by one, what a role needs, and says how to get what is missing.

Nothing is changed by it: no topic is created, no record written, no group joined. Brokers are asked with the properties
of the role itself, so that what works here works there (``confluent_kafka``).
"""

from __future__ import annotations

__all__: list[str] = []
