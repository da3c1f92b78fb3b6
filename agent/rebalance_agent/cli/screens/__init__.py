"""What commands print: the live table of `watch` (``textual``, ``rich``), and the text of `whatif`.

The only package that imports ``textual``.
"""
