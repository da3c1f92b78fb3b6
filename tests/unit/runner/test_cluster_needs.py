"""The messages of `make test-node` on a machine without the requirements, before anything is built."""

import os
import sys

import pytest

from support.cluster import needs


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """A folder that is the only one of PATH, on Linux as root; returns a function that adds scripts."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("INSTALL", raising=False)

    def put(name, status=0):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\nexit {status}\n")
        path.chmod(0o755)

    return put


def test_root_without_the_right_to_create_namespaces_gets_an_error(on_path):
    on_path("unshare", status=1)
    assert "namespaces" in needs.missing()
    assert "apt-get" not in needs.missing()


def test_missing_programs_are_named_with_the_install_command(on_path, monkeypatch):
    on_path("unshare")
    monkeypatch.setattr(needs, "PACKAGES", {"/nowhere/sbin/a-runtime": "a-package"})
    assert needs.missing().endswith("apt-get install --no-install-recommends a-package")


@pytest.mark.parametrize("folder", ["bin", "sbin"])
def test_a_program_in_another_folder_is_not_replaced(on_path, monkeypatch, folder):
    on_path("unshare")
    on_path("a-runtime")
    monkeypatch.setattr(needs, "PACKAGES", {f"/nowhere/{folder}/a-runtime": "a-package"})
    assert needs.missing() == ""
