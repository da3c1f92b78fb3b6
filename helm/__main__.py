"""``python -m helm``: generate the chart's schema and rules."""

from __future__ import annotations

from helm.files import CHART, files

for path, content in files().items():
    (CHART / path).parent.mkdir(parents=True, exist_ok=True)
    (CHART / path).write_text(content, encoding="utf-8")
