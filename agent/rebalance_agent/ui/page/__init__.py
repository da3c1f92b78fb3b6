"""The agent's HTML pages: an observer's list of groups and page per group, and a sidecar's page of consumers.

- ``site``: routes and caching; ``page_frame``: what all pages share, and their Content-Security-Policy.
- ``group_list``: the list, ordered by ``trouble``. ``group_page``: one group, with ``owners_timeline``, which draws
  ``timeline_columns`` as ``owners_picture``, and ``page_advice``. ``sidecar_page``: the consumers beside a sidecar.

Pages are rendered completely here, so that they work without a script; ``page.js`` fetches them again and replaces the
parts that changed. All text from outside is escaped, and the policy allows only that script.
"""
