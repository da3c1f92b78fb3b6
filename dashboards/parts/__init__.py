"""The parts of boards as plain values: panels, queries, rows, variables."""
