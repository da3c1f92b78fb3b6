"""Output of commands: the live tables of `watch` (``watch_*``; ``textual`` and ``rich``), and the text of `whatif`.

The only package that imports ``textual``.
"""
