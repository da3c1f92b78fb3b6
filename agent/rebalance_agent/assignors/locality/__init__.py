"""Assigns partitions to members that are near, according to the racks of replicas and to labels.

- ``locality``: finds the members near a partition; ``labels``: parses the labels of members and topics.
- ``nearest``: deals partitions to near members at the least cost; ``even_deal``: deals partitions in turn.
"""
