"""The Fleet board: the groups with the highest rebalance costs, and the causes."""
