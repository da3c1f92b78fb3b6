"""SVG and HTML pieces that pages and reports share. Pure; all text is escaped.

``canvas``: marks, scales and axes. ``pieces``: legends, figures and tables. ``assets``: reads files shipped with
the code. ``look.css``: colours and marks. ``tips.js``: tooltips, for the pointer and for the arrow keys.
"""
