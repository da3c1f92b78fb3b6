"""Measures the cost of instrumentation for a consumer's process."""
