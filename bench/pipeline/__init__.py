"""Compares the pipeline on Spark with plain loops and bare reads."""
