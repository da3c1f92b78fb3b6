"""The generated tables in hand-written pages equal the output of `make docs`."""

from pathlib import Path

import pytest
from docs.developers.writers.tables import TABLES, replace_tables

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", TABLES)
def test_the_committed_tables_are_current(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert replace_tables(page, TABLES[name]) == page, "run: make docs"


def test_tables_are_replaced_and_the_text_around_them_stays():
    page = "a\n\n| b |\n| --- |\n| old |\n\nc\n\n| d |\n| --- |\n| e |\n\n| b |\n| --- |\n"
    tables = ("| b |\n| --- |\n| 1 |\n", "| b |\n| --- |\n| 2 |\n")
    assert replace_tables(page, tables) == (
        "a\n\n| b |\n| --- |\n| 1 |\n\nc\n\n| d |\n| --- |\n| e |\n\n| b |\n| --- |\n| 2 |\n"
    )


def test_a_page_without_a_table_is_refused():
    with pytest.raises(ValueError, match="1 tables with the head"):
        replace_tables("| b |\n| --- |\n", ("| b |\n", "| b |\n"))
