"""Measures the pipeline on Spark, compared with plain loops and bare reads."""
