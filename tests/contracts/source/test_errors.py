from __future__ import annotations

import importlib
import pkgutil

import rebalance_agent
from rebalance_agent import errors


def test_every_exception_of_the_package_is_in_the_tree_of_the_docstring():
    for module in pkgutil.walk_packages(rebalance_agent.__path__, "rebalance_agent."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    missing = [name for name in _descendants(errors.RebalanceAgentError) if name not in (errors.__doc__ or "")]
    assert missing == []


def _descendants(kind):
    for child in kind.__subclasses__():
        yield child.__name__
        yield from _descendants(child)
