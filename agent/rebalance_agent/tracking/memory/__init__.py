"""The memory that the states of groups take: ``state_budget`` bounds it."""
