"""The board Fleet: the groups with the highest rebalance costs, and the causes."""
