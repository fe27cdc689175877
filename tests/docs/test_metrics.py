"""The page on running the service lists all metrics, and no others."""

import re
from pathlib import Path

from support.service import Service

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run.md"
ROW = re.compile(r"^\| (`comptoir_[^|]*) \|", re.MULTILINE)
TYPE = re.compile(r"^# TYPE (comptoir_\w+) ", re.MULTILINE)
CREATED = "_created"
"""Ends the names of the times that the exposition format adds to counters and histograms."""


def test_the_page_lists_the_metrics_of_the_service(service: Service) -> None:
    documented = [
        name for row in ROW.findall(PAGE.read_text("utf-8")) for name in re.findall(r"\w+", row)
    ]
    # no connection to the database is still being opened when the tests end
    assert service.origin.get("readyz").status_code == 200
    exposed = TYPE.findall(service.origin.get("metrics").text)
    assert sorted(documented) == sorted(name for name in exposed if not name.endswith(CREATED))
