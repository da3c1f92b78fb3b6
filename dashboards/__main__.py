"""``python -m dashboards``: generate the boards' JSON, and the lists of panels in their pages."""

from __future__ import annotations

from dashboards.boards import BOARDS, FOLDER
from dashboards.grafana.normalise import text
from dashboards.pages import PAGES, page

FOLDER.mkdir(exist_ok=True)
for board in BOARDS:
    (FOLDER / f"{board.uid}.json").write_text(text(board), encoding="utf-8")
    reported = PAGES / f"{board.uid}.md"
    reported.write_text(page(reported.read_text(encoding="utf-8"), board), encoding="utf-8")
