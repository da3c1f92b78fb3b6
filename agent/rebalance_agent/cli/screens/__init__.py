"""Output of commands: the live tables of `watch` (``watch_*``) and texts for people.

The texts are ``assign_text``, ``decode_text``, ``migrate_text`` and ``whatif_text``.

The tables are made with ``rich`` and ``textual``; this is the only package that imports ``textual``.
"""
