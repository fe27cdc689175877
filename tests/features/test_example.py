"""The feature that the page about the code adds works as it is written there."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from features.sources import linked

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md"

PROGRAM = """
import asyncio, sys
import httpx
from comptoir.app import application
from comptoir.config import Settings

async def main():
    folder = sys.argv[1]
    app = application(Settings(database=f"sqlite:///{folder}/none.db", keys=folder))
    await app.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        answer = await client.get("http://127.0.0.1:8080/api/companies")
        assert answer.status_code == 401
        print(answer.headers["served-by"])
    await app.stop()

asyncio.run(main())
"""


def test_the_example_of_a_feature_adds_a_header(tmp_path: Path) -> None:
    package = linked(tmp_path, partial(re.sub, r"\bsamples\b", "samples, served_by"))
    entry, feature = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    folder = package / "features" / "served_by"
    folder.mkdir()
    (folder / "__init__.py").write_text(entry, "utf-8")
    (folder / "feature.py").write_text(feature, "utf-8")
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip()
