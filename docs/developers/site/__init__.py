"""Builds the documentation as a site (``make docs-site``), and checks the links of the built pages.

Sphinx with MyST reads Markdown as GitHub does, so one text serves both. MkDocs reads nested lists differently, and its
version 1 is no longer maintained.

``nav``: the pages and their order, from the index; ``source_links``: links to files and folders that are not pages;
``repository_address``: where these lead; ``conf``: Sphinx's settings; ``built_links``: the check. ``absolute_links`` is
for pages outside the site, such as a release's.
"""
