"""Spark itself: the session with all its configuration, the Java that it runs on, its jars, its progress."""
