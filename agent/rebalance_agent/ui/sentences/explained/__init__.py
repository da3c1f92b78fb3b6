"""One rebalance as `explain` describes it. Pure.

- ``observed_rebalance``: one rebalance with its context; ``observed_rebalances``: reads the last rebalances of a group.
- ``causes``: describes the rebalance's causes; ``departed``: finds the members that left or failed.
- ``bound_reason``: why the stall has two bounds.
- ``client_text``: what the clients of the members concerned measured themselves.
"""
