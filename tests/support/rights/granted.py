"""Grants and revokes a principal's permissions on a broker with an authorizer."""

from __future__ import annotations

import re

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from support.observer.observing import eventually

__all__ = ["deny", "give", "take_all"]


def give(kafka, principal, rights):
    """Grant exactly these ``rights``, and wait until the broker uses them."""
    take_all(kafka, principal)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    bindings = [
        AclBinding(
            ResourceType[right.resource.upper()],
            right.name,
            ResourcePatternType.PREFIXED if right.prefixed else ResourcePatternType.LITERAL,
            principal,
            "*",
            AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", right.operation).upper()],
            AclPermissionType.ALLOW,
        )
        for right in rights
    ]
    for future in (admin.create_acls(bindings) if bindings else {}).values():
        future.result()
    eventually(lambda: len(_held(admin, principal)) == len(set(bindings)))


def deny(kafka, principal, topic, operation):
    """Deny an operation on a topic, also to a principal that has it by another ACL."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    kind, literal = ResourceType.TOPIC, ResourcePatternType.LITERAL
    binding = AclBinding(kind, topic, literal, principal, "*", operation, AclPermissionType.DENY)
    admin.create_acls([binding])[binding].result()


def take_all(kafka, principal):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    for future in admin.delete_acls([_of(principal)]).values():
        future.result()
    eventually(lambda: not _held(admin, principal))


def _held(admin, principal):
    return admin.describe_acls(_of(principal)).result()


def _of(principal):
    return AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, principal, None, AclOperation.ANY, AclPermissionType.ANY
    )
