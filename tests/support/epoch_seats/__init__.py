"""Models for tests of seats in groups of KIP-848: the coordinator, its frames, clients."""
