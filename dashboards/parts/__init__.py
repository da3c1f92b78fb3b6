"""Defines the parts of boards as plain values: panels, queries, rows and variables."""
