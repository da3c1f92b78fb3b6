"""Runs Helm with this chart, without a cluster."""

from __future__ import annotations

import subprocess
from typing import Any

import yaml

from support.cluster.kube_tools import program
from support.helm.rendered import CHART, objects

EVERYTHING = ("--api-versions", "monitoring.coreos.com/v1", "--api-versions", "sparkoperator.k8s.io/v1beta2")
"""API versions of a cluster that has both operators."""


class HelmError(Exception):
    """Helm's error output."""


def helm(*arguments: object, stdin: str | None = None) -> str:
    """Helm's output.

    Raises:
        HelmError: helm failed.
    """
    command = [program("helm"), *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HelmError(done.stderr + done.stdout)
    return done.stdout


def template(values: object = None, *arguments: object) -> str:
    """The chart rendered with ``values`` over its own, as text."""
    stdin = yaml.safe_dump(values or {})
    return helm("template", "watch", CHART, "--namespace", "kafka", "--values", "-", *arguments, stdin=stdin)


def one(kind: str, text: str) -> dict[str, Any]:
    """The only object of a ``kind`` in a rendered ``text``."""
    (found,) = (each for each in objects(text) if each["kind"] == kind)
    return found
