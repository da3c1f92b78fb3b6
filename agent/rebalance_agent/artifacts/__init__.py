"""Downloads Java programs: it fetches once, verifies and caches each jar that a lock file names.

The embedded Kafka of `testing` and the pipeline's Spark use this package; they choose the jars and run them. It is the
only package that imports ``jgo``, which resolves Maven coordinates.

- ``lockfile``: the format of lock files; ``lock``: the command that writes one; ``maven``: accesses the
  registry.
- ``fetching``: fills the cache; ``download_progress``: shows downloads on standard error; ``errors``: their errors.
"""

from __future__ import annotations
