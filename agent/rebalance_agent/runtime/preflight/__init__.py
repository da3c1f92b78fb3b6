"""``rebalance-agent check``: tests the requirements of a role one by one, and prints how to meet the missing ones.

The checks change nothing: they create no topic, write no record and join no group. They query brokers with the
properties of the role itself (``confluent_kafka``), so that what works in a check works in the role.

- ``plan``: makes all checks of a role, in order; ``findings``: their results; ``findings_report``: formats the results
  as text and JSON.
- ``local_checks``, ``server_checks``, ``gateway_checks``, ``rights_checks``: make the checks of one subject each.
- ``source_checks``: checks the sources of generations, and reports what each costs.
- ``diagnosis``: explains why a server cannot be reached.
- ``acl_script``: prints a script that grants all permissions of a role.
- ``probes``: tests whether a permission of ``runtime.settings.rights`` is granted.
"""

from __future__ import annotations

__all__: list[str] = []
