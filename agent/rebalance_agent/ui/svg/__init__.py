"""SVG and HTML pieces: canvas, legends, numbers and names as people read them. Pure; all text is escaped.

``look.css`` has the colours and marks, ``tips.js`` the tooltips, which work with the pointer and with the arrow keys.
"""
