"""Image definitions agree with the repository: hashes and file names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = ("agent", "build", "cloud", "pipeline")
ONLY_OF_THE_IMAGE = {"setuptools", "wheel"}  # pip of a development environment contains its own copy


def locked(name: str) -> dict[str, str]:
    """Version by package; for a package with a version per Python, the last one."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", LOCKS)
def test_an_image_has_the_tested_versions(name):
    tested = locked("dev")
    assert {package: version for package, version in locked(name).items() if tested.get(package) != version}.keys() <= (
        ONLY_OF_THE_IMAGE
    )


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_an_image_has_its_hashes_and_no_address(name):
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    assert "://" not in text
    for entry in re.split(r"\n(?=[a-z0-9])", text):
        assert "--hash=sha256:" in entry, entry


def test_the_ignore_file_permits_the_images_sources():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert "*" in lines
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from=" not in line:
            *sources, _ = line.split()[1:]
            for source in sources:
                assert (ROOT / source).exists(), source
                assert source in let_in or f"{Path(source).parent}/*{Path(source).suffix}" in let_in, source
