"""Takes `docs/console.png`, the picture in the README: a list of records.

It needs Debian's Chromium: `.venv/bin/python tools/picture.py`.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "console.png"
WIDTH, HEIGHT = 1_120, 625
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
COMPTOIR = [sys.executable, "-m", "comptoir"]


def main() -> None:
    """Take the picture, and print its size."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder) as printed,
        sync_playwright() as playwright,
    ):
        program = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        port = urlsplit(printed["Serving"]).port
        show_list(page, run(folder, "console", "--port", str(port), "--subject", "anna"))
        page.screenshot(path=PICTURE)
        browser.close()
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size // 1_000} kB\n")


@contextmanager
def serving(folder: str) -> Iterator[dict[str, str]]:
    """A quickstart, and the lines that it prints before those to paste, by their first word."""
    command = [*COMPTOIR, "serve", "--quickstart", "--port", "0", "--log-level", "warning"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        printed: dict[str, str] = {}
        for line in process.stdout or ():
            if line.startswith("Paste"):
                break
            name, *_, value = line.split()
            printed[name.rstrip(":")] = value
        yield printed
        process.terminate()


def run(folder: str, *arguments: str) -> str:
    """The last line that a command prints."""
    command = [*COMPTOIR, *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1]


def show_list(page: Page, link: str) -> None:
    """Log in, and open the list of contacts."""
    page.goto(link)
    page.wait_for_url("**/console")
    page.get_by_role("link", name="Records").click()
    page.get_by_role("link", name="Contacts").click()
    page.wait_for_load_state()


if __name__ == "__main__":
    main()
