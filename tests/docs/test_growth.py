"""The curves on the page on performance are those of the measured figures."""

import subprocess
import sys

from docs.pages import DOCS, ROOT


def test_the_drawing_follows_from_the_figures() -> None:
    command = [sys.executable, str(ROOT / "bench" / "curves.py")]
    drawn = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout

    assert drawn == (DOCS / "explanation" / "growth.svg").read_text(encoding="utf-8"), (
        "the figures have changed: python bench/curves.py > docs/explanation/growth.svg"
    )
