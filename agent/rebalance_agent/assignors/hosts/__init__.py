"""Hosts of members, as the records and the members' reports show them.

- ``host_names``: the rules that name the host of a member.
- ``topic_hosts``: counts the hosts of each topic's partitions.

Strategies are not included: they know hosts only by the members' ids.
"""
