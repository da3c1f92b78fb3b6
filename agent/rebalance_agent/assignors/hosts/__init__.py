"""Hosts of members, as the records and the members' reports show them.

- ``host_names``: what counts as the host of a member.
- ``topic_hosts``: on how many hosts the partitions of each topic are.

Not here: what a strategy knows of hosts, which is only the members' ids (``strategies``).
"""
