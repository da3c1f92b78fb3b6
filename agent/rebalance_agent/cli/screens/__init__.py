"""Output of commands: the live tables of `watch` (``watch_*``, with ``textual``), and the text of `whatif`.

The only package that imports ``textual``.
"""
