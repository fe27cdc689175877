"""The curves and the table on the page on performance are those of the measured figures."""

from curves import DRAWING, PAGE, Growth, drawn, with_table

AGAIN = "the figures have changed: python bench/curves.py"


def test_the_drawing_and_the_table_follow_from_the_figures() -> None:
    growth, page = Growth.read(), PAGE.read_text(encoding="utf-8")

    assert drawn(growth) == DRAWING.read_text(encoding="utf-8"), AGAIN
    assert with_table(page, growth) == page, AGAIN
