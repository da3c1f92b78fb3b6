"""The agent's own pages: groups, the worst first, and the life of each in a picture and in words.

A sidecar shows the consumers beside it. Drawn here and sent whole, so that it works without a script; ``page.js`` asks
again and takes over what is new. All that comes from outside is escaped, and nothing may run but that one file.
"""
