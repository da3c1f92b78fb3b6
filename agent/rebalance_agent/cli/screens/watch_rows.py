"""A table on screen that is updated in place: unchanged cells are not drawn again."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.coordinate import Coordinate
from textual.widgets import DataTable

__all__ = ["Rows"]


class Rows:
    """The rows of ``table``; when rows change, the cursor stays on the row with the same key.

    The columns' widths are set here before each drawing. Textual would measure new cells only after the first drawing,
    and keep the cut cells of this drawing until a cell changes.
    """

    def __init__(self, table: DataTable[Text]) -> None:
        """Manage the rows of ``table``, which must be empty."""
        self._table = table
        self._titles: list[str] = []
        self._keys: list[str] = []
        self._cells: list[list[Text]] = []

    def show(self, titles: Sequence[str], rows: Sequence[tuple[str, list[Text]]]) -> None:
        """Show ``rows``, pairs of a unique key and cells, under ``titles``."""
        keys = [key for key, _ in rows]
        cells = [row for _, row in rows]
        if keys == self._keys and list(titles) == self._titles:
            self._head(titles, cells)
            self._update(cells)
        else:
            self._fill(titles, keys, cells)
        self._titles, self._keys, self._cells = list(titles), keys, cells

    def _update(self, cells: list[list[Text]]) -> None:
        for row, (before, after) in enumerate(zip(self._cells, cells, strict=True)):
            for column, (old, new) in enumerate(zip(before, after, strict=True)):
                if old != new or old.style != new.style:
                    self._table.update_cell_at(Coordinate(row, column), new, update_width=True)

    def _head(self, titles: Sequence[str], cells: list[list[Text]]) -> None:
        """Set each column's title, and its width to that of its longest text."""
        for index, (column, title) in enumerate(zip(self._table.ordered_columns, titles, strict=True)):
            column.label = Text(title)
            column.width = max(text.cell_len for text in (column.label, *(row[index] for row in cells)))

    def _fill(self, titles: Sequence[str], keys: list[str], cells: list[list[Text]]) -> None:
        at = self._table.cursor_row
        under = self._keys[at] if 0 <= at < len(self._keys) else None
        top = self._table.scroll_y
        self._table.clear(columns=len(titles) != len(self._titles))
        if not self._table.columns:
            for title in titles:
                self._table.add_column(title, width=len(title))
        self._head(titles, cells)
        for key, row in zip(keys, cells, strict=True):
            self._table.add_row(*row, key=key)
        if under in keys:
            self._table.move_cursor(row=keys.index(under), animate=False)
        self._table.scroll_to(y=top, animate=False)
