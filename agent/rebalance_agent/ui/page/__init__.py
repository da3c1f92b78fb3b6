"""The agent's HTML pages: an observer's list of groups, its page for each group, and a sidecar's page of consumers.

- ``site``: routes requests and caches pages; ``page_frame``: writes the parts that all pages share, and their
  Content-Security-Policy.
- ``group_list``: writes the list, ordered by ``trouble``. ``group_page``: writes the page of one group, with
  ``page_advice`` and with ``owners_timeline``, which draws ``timeline_columns`` as ``owners_picture``.
  ``savings_note``: writes what recommended changes save. ``sidecar_page``: writes the page of the consumers that
  report to a sidecar.

Pages are rendered completely here, so that they work without a script; ``page.js`` fetches them again and replaces the
parts that changed. All text from outside is escaped, and the policy allows only that script.
"""
