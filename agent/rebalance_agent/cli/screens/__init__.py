"""Output of commands: the live tables of `watch` (``watch_*``) and the text of `whatif` (``whatif_text``).

The tables are made with ``rich`` and ``textual``; it is the only package that imports ``textual``.
"""
