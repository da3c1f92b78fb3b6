"""Derives the hosts of members from the records and the members' reports.

- ``host_names``: the rules that name the host of a member.
- ``topic_hosts``: counts the hosts of each topic's partitions.

Strategies are not included: they derive hosts only from the members' ids.
"""
