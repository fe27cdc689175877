"""What the pages link to, name, list and draw is what there is."""

import re

import curves

from comptoir.auth.audit import ActName
from docs.pages import DOCS, ROOT, anchors, links, pages
from support.service import Service


def test_every_internal_link_resolves() -> None:
    for page in pages():
        for link in links(page):
            path, _, fragment = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not link.startswith(("http://", "https://", "mailto:")):
                assert target.exists(), f"{page}: {link}"
                assert not fragment or fragment in anchors(target), f"{page}: {link}"


def test_the_picture_in_the_readme_exists_and_is_small() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (path,) = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", text)
    picture = (ROOT / path).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 150_000


def test_every_page_is_reached_from_the_index() -> None:
    """Readers do not find a page without a link to it."""
    reached = {
        (DOCS / link.partition("#")[0]).resolve()
        for link in links(DOCS / "README.md")
        if not link.startswith("http")
    }
    pages_of_docs = set(DOCS.rglob("*.md")) - {DOCS / "README.md"}
    assert pages_of_docs - reached == set()


def test_the_architecture_page_names_existing_files() -> None:
    text = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text))
    sources = ROOT / "src" / "comptoir"
    folders = (ROOT, sources, sources / "features")
    assert len(named) > 50
    assert [each for each in sorted(named) if not any((at / each).exists() for at in folders)] == []


def test_the_page_on_the_audit_log_lists_the_acts() -> None:
    page = (DOCS / "how-to" / "audit.md").read_text("utf-8")
    (listed,) = re.findall(r"The acts are (.*?)\.\n", page, re.DOTALL)
    assert sorted(re.findall(r"`([^`]+)`", listed)) == sorted(ActName)


def test_the_page_on_running_lists_the_metrics_of_the_service(service: Service) -> None:
    page = (DOCS / "how-to" / "run.md").read_text("utf-8")
    rows = re.findall(r"^\| (`comptoir_[^|]*) \|", page, re.MULTILINE)
    # no connection to the database is still being opened when the tests end
    assert service.origin.get("readyz").status_code == 200
    text = service.origin.get("metrics").text
    exposed = re.findall(r"^# TYPE (comptoir_\w+) ", text, re.MULTILINE)
    # the exposition format adds times to counters and histograms
    metrics = sorted(name for name in exposed if not name.endswith("_created"))
    assert sorted(re.findall(r"\w+", " ".join(rows))) == metrics


def test_the_drawing_and_the_table_on_performance_follow_from_the_figures() -> None:
    growth, page = curves.Growth.read(), curves.PAGE.read_text(encoding="utf-8")
    again = "the figures have changed: python bench/curves.py"

    assert curves.drawn(growth) == curves.DRAWING.read_text(encoding="utf-8"), again
    assert curves.with_table(page, growth) == page, again
