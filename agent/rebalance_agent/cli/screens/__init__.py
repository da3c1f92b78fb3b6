"""Writes the output of commands: the live tables of `watch` (``watch_*``) and texts for people.

``assign_text``, ``decode_text``, ``migrate_text`` and ``whatif_text`` write these texts.

The tables use ``rich`` and ``textual``. No other package imports ``textual``.
"""
