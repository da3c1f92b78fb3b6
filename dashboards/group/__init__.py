"""The Group board: the rebalances of one consumer group, their causes and costs."""
