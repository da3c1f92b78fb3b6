"""The board Group: the rebalances of one consumer group, their causes and costs."""
