"""The sync of the webshop on bad days, by the fixture `comptoir`, which pytest finds by itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from comptoir.features.testing.service import Comptoir

SYNC = Path(__file__).parents[1] / "webshop" / "sync.py"


class Shop:
    """A webshop with a folder of its own."""

    def __init__(self, comptoir: Comptoir, folder: Path) -> None:
        self._folder = folder
        self._settings = {
            "BASE": comptoir.url,
            "COMPANY": comptoir.company,
            "TOKEN": comptoir.token,
        }

    def sync(self) -> Any:
        """Run the sync, and return what the shop then has."""
        settings = {**os.environ, **self._settings}
        subprocess.run([sys.executable, SYNC], cwd=self._folder, env=settings, check=True)
        return json.loads((self._folder / "shop.json").read_text())

    def edit(self, state: Any, **edit: str) -> str:
        """Let a customer edit some contact, and return its id."""
        key: str = min(state["contactsExt"])
        state["edits"] = {key: edit}
        (self._folder / "shop.json").write_text(json.dumps(state))
        return key


@pytest.fixture
def shop(comptoir: Comptoir, tmp_path: Path) -> Shop:
    return Shop(comptoir, tmp_path)


def test_a_sync_that_is_throttled_misses_no_record(comptoir: Comptoir, shop: Shop) -> None:
    comptoir.fault("throttle; retry-after=0", method="GET", nth=2, times=2)
    comptoir.fault("away; retry-after=0", method="GET", nth=3, times=1)
    state = shop.sync()
    assert len(state["itemsExt"]) == 40
    assert {429, 503} < {each.status for each in comptoir.requests}


def test_an_edit_survives_another_user_and_a_lost_answer(comptoir: Comptoir, shop: Shop) -> None:
    key = shop.edit(shop.sync(), phoneNumber="+41 44 555 01 02")
    comptoir.fault("touch; field=city", times=1, set="contactsExt")
    comptoir.fault("reset; phase=after", times=1, method="PATCH")
    state = shop.sync()
    assert state["contactsExt"][key]["phoneNumber"] == "+41 44 555 01 02"
    assert state["edits"] == {}
    assert comptoir.report()["stale-tag"].recovered == "yes"
