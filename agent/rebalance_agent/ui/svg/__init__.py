"""Writes the SVG and HTML pieces that pages and reports share. Pure; all text is escaped.

``canvas``: draws marks, scales and axes. ``pieces``: writes legends, figures and tables. ``assets``: reads files that
are shipped with the code. ``look.css``: defines colours and marks. ``tips.js``: shows tooltips, for the pointer and for
the arrow keys.
"""
