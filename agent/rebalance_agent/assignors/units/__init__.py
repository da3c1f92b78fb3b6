"""Partitions that stay together: co-partitioned topics and tasks, with standby copies elsewhere."""
