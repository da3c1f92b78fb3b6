"""Java programs that Python has to bring along: jars named by lock files, fetched once, checked, kept in one cache.

The embedded Kafka of `testing` and the pipeline's Spark both take theirs from here. Not here: which jars, and what is
run with them. The only package that imports ``jgo``, which resolves Maven coordinates.
"""

from __future__ import annotations
