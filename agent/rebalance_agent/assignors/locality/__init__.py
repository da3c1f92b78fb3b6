"""Places partitions near their owners, by the racks of replicas and by labels.

- ``locality``: which members are near a partition; ``labels``: labels of members and topics.
- ``nearest``: partitions to near members at least cost; ``even_deal``: deals partitions in turn.
"""
