"""The comparison with the last release, and the page with its figures."""

from collections.abc import Sequence
from pathlib import Path

from figures import Comparison, Single, table
from performance_page import PAGE, refreshed
from release import Kept, Release, worse

from support.together import together

LAST = {("a page", "bare"): 2.0}


def measured(*ratios: float, guarded: bool = True, against: str = "bare") -> Comparison:
    figure = Comparison("a page", "µs", against, guarded=guarded)
    for ratio in ratios:
        figure.add(ratio * 100, 100)
    return figure


@together("ratios", [(2.21, 2.3, 1.9), (1.9, 2.21, 2.21), (2.21, 2.21, 2.21), (2.21,)])
def test_a_ratio_that_is_worse_in_two_of_three_rounds_is_named(ratios: Sequence[float]) -> None:
    figure = measured(*ratios)
    assert list(worse([figure], LAST)) == ["a page / bare"]
    _, row = table([figure], LAST)
    assert row.endswith("2  WORSE")


@together("ratios", [(9, 2.19, 2.19), (2.19, 2.19, 2.19), (1, 1, 1), (2.21, 2.21, 2, 2)])
def test_a_ratio_that_is_worse_in_fewer_rounds_or_by_less_is_not(ratios: Sequence[float]) -> None:
    figure = measured(*ratios)
    assert list(worse([figure], LAST)) == []
    _, row = table([figure], LAST)
    assert row.endswith("  2")


def test_only_guarded_ratios_that_the_last_release_has_are_compared() -> None:
    memory = Single("a page", "MiB", values=[900])
    new = measured(9, 9, 9, against="the peer")
    assert list(worse([measured(9, 9, 9, guarded=False), new, memory], LAST)) == []


def test_a_release_is_kept_with_the_figures_of_the_parts_that_were_not_measured(
    tmp_path: Path,
) -> None:
    before = Release("1", "a machine", {"load": [Kept("a load", 1, "s")], "pages": []})
    memory = Single("memory", "MiB", values=[140.04, 141, 150])
    now = before.updated("2", "another", {"pages": [measured(3, 4, 5.0004), memory]})
    now.write(tmp_path / "ratios.json")
    assert Release.read(tmp_path / "ratios.json") == Release(
        "2",
        "another",
        {
            "load": [Kept("a load", 1, "s")],
            "pages": [Kept("a page", 400, "µs", "bare", 100, 4), Kept("memory", 141, "MiB")],
        },
    )
    assert now.ratios == {("a page", "bare"): 4}


def test_a_table_of_the_page_has_the_figures_of_its_part() -> None:
    figures = [
        Kept("a page", 1_500, "µs", "bare", 200, 7.5),
        Kept("a read", 80, "µs", "the peer", 1_600, 0.05),
        Kept("memory", 141, "MiB"),
    ]
    old = "before\n<!-- figures of pages -->\nold\n<!-- end of figures -->\nbetween\n"
    other = "<!-- figures of load -->\nkept\n<!-- end of figures -->\n"
    text = refreshed(old + other, Release("1", "", {"pages": figures}))
    assert text.splitlines() == [
        "before",
        "<!-- figures of pages -->",
        "| measurement | value | compared with | ratio |",
        "|---|---|---|---|",
        "| a page | 1,500 µs | 200 µs, bare | 7.5 |",
        "| a read | 80 µs | 1,600 µs, the peer | 1/20 |",
        "| memory | 141 MiB |  |  |",
        "<!-- end of figures -->",
        "between",
        *other.splitlines(),
    ]


def test_the_page_has_the_figures_of_the_last_release() -> None:
    text = PAGE.read_text(encoding="utf-8")
    release = Release.read()
    assert refreshed(text, release) == text
    assert all(f"<!-- figures of {part} -->" in text for part in release.parts)
