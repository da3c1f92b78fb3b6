"""From the cluster to observations: the offsets topic, polls of the admin API, and what members report.

Collectors run in threads of their own and put `Observation` values into one bounded inbox. They conclude nothing: that
is the tracker's work. The only room besides ``runtime`` that talks to Kafka for the agent.
"""
