"""Groups and their rebalances in words: what `explain`, `watch` and the agent's own page say. Pure."""
