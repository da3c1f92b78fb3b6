"""Which members are near a partition, by the racks of its replicas and by labels.

- ``locality``: what partitions prefer in their owner, and who misses it; ``labels``: labels of members and topics.
- ``nearest``: partitions to near members at the least cost; ``even_deal``: deals partitions in turn.
"""
