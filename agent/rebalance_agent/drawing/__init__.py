"""Pictures and pieces of pages: SVG, HTML, names of triggers and their colours. Text out, always escaped; pure.

What the pipeline's report and the agent's own page have in common: ``look.css`` their colours and marks, ``tips.js``
how a mark explains itself to the pointer and to the arrow keys.
"""
