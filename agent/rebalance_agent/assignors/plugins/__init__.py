"""Strategies of other packages: found by their entry points, imported only when they are needed, and never trusted.

- ``installed_plugins``: finds the packages that declare a strategy, and loads one or states why it cannot be used.
- ``guarded_strategy``: a strategy whose failures are errors of this package, and whose results are checked.
- ``result_checks``: the checks of these results.
"""
