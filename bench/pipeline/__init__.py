"""The pipeline on Spark beside plain loops and bare reads."""
