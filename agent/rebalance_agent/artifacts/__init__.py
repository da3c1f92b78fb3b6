"""Downloads Java programs: jars named by lock files, fetched once, verified, kept in one cache.

The embedded Kafka of `testing` and the pipeline's Spark use it. Not here: which jars, and what is run with them. The
only package that imports ``jgo``, which resolves Maven coordinates.

- ``lockfile``: the format of lock files; ``lock``: the command that writes one; ``maven``: the registry.
- ``fetching``: the cache and its downloads; ``download_progress``: their line on standard error; ``errors``: the
  errors.
"""

from __future__ import annotations
