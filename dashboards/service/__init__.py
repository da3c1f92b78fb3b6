"""The Service board: the groups of one service or team, for its owner."""
