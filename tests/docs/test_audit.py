"""The page on the audit log lists all acts, and no others."""

import re
from pathlib import Path

from comptoir.auth.audit import ActName

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "audit.md"


def test_the_page_lists_the_acts() -> None:
    (listed,) = re.findall(r"The acts are (.*?)\.\n", PAGE.read_text("utf-8"), re.DOTALL)
    assert sorted(re.findall(r"`([^`]+)`", listed)) == sorted(ActName)
