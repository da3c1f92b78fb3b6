"""Output of commands: the live tables of `watch` (``watch_*``) and texts (``whatif_text``, ``migrate_text``).

The tables are made with ``rich`` and ``textual``; it is the only package that imports ``textual``.
"""
