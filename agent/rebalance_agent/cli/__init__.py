"""The command line. ``main`` finds a command; ``commands`` has one module per command, ``pipeline`` one per stage.

``inputs`` reads what commands take (files, an agent's API, a cluster); ``screens`` draws tables and text. Nothing is
decided here: a command parses, calls a room, prints, and chooses an exit code.
"""
