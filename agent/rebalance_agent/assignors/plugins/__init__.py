"""Finds strategies of other packages by their entry points, imports them only when needed, and checks their results.

- ``installed_plugins``: finds the packages that declare a strategy, and loads one or states why it cannot be used.
- ``guarded_strategy``: turns the failures of a strategy into errors of this package, and checks its results.
- ``result_checks``: contains the checks of these results.
"""
