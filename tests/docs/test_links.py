"""Links between pages, and the paths of code on them, exist."""

import re

from docs.pages import DOCS, ROOT, anchors, links, pages


def test_every_internal_link_resolves() -> None:
    broken = []
    for page in pages():
        for link in links(page):
            path, _, fragment = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            if not target.exists() or (fragment and fragment not in anchors(target)):
                broken.append((page, link))
    assert broken == []


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
