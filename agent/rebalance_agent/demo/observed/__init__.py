"""What the demo reads: the agent's metrics and events, the coordinator's own words, and whether they agree."""
