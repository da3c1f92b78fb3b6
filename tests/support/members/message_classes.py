"""Creates all versions of kafka-python's response classes, before several threads do so at once.

kafka-python 3.0 creates a class for each version of a response when it is first needed, and a registry has a weak
reference to the class that was created last. If two threads create the same version at once, the registered class can
be the one without another reference: then no response to such a request can be read in this process, and all time out.
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python 3.0 at import
    import kafka  # noqa: F401 - registers the classes
    from kafka.protocol.api_header import ResponseClassRegistry

REGISTERED = ResponseClassRegistry._response_class_registry


def create_message_classes():
    """Create each version of each registered response class that does not exist yet."""
    for response in list(REGISTERED.values()):
        for version in range(response.min_version, response.max_version + 1):
            response[version]


create_message_classes()
