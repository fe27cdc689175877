"""Debian's Chromium, driven by Playwright: what a page does there, and what it must not do."""

import asyncio
import shutil
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Self, TypeVar
from urllib.parse import urlsplit

import msgspec
from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Request,
    Response,
    async_playwright,
)

from support.programs import needed, node
from support.waiting import PATIENCE_SECONDS

T = TypeVar("T")

_MILLISECONDS = PATIENCE_SECONDS * 1_000
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    # a tab shows all its pages in one process, which has compiled axe once
    *("--renderer-process-limit=1", "--disable-site-isolation-trials"),
    # further threads and optimized code cost more than they save in a page that is open for seconds
    "--js-flags=--single-threaded --no-opt --no-maglev --no-flush-bytecode",
)
_ALL_RULES = {"type": "tag", "values": ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")}
"""The rules of WCAG 2.2, levels A and AA, by the names that axe gives them."""
_LAYOUT_RULES = (
    *("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"),
)
"""Those of them that depend on colours and on the width of the window."""


class _Node(msgspec.Struct):
    html: str


class Violation(msgspec.Struct):
    """A rule of accessibility that a page breaks, and where."""

    id: str
    help: str
    nodes: list[_Node]


class Chromium:
    """A browser for all tests of a process.

    Playwright runs on an event loop in a thread of its own, so tests and services use theirs as
    ever: `do` awaits there what a method of a page returns.
    """

    def __init__(self) -> None:
        # the shell takes half the time of the whole browser, whose window nobody sees
        shell = shutil.which("chromium-headless-shell")
        self._program = shell or needed("chromium", "chromium-headless-shell")
        axe = (node().packages / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
        self.axe = f"Object.defineProperty(window, 'loadAxe', {{value() {{ {axe}\n}}}})"
        """A script that gives a page the function `loadAxe`, which loads axe-core."""
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="chromium", daemon=True)
        self._thread.start()
        self._playwright, self._browser = self.do(self._launched())

    def do(self, work: Awaitable[T]) -> T:
        """Await what a method of Playwright returns."""

        async def awaited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(PATIENCE_SECONDS)

    def tab(
        self, origin: str, *, scripts: bool = True, dark: bool = False, trusts_all: bool = False
    ) -> "Tab":
        """A tab with cookies of its own; `trusts_all` accepts the certificates of the tests."""

        async def opened() -> Page:
            context = await self._browser.new_context(
                java_script_enabled=scripts,
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
                ignore_https_errors=trusts_all,
            )
            context.set_default_timeout(_MILLISECONDS)
            return await context.new_page()

        return Tab(self, self.do(opened()), origin)

    def close(self) -> None:
        """End the browser."""
        self.do(self._browser.close())
        self.do(self._playwright.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    async def _launched(self) -> tuple[Playwright, Browser]:
        playwright = await async_playwright().start()
        browser = await playwright.chromium.launch(
            executable_path=self._program, args=list(_OPTIONS), timeout=_MILLISECONDS
        )
        return playwright, browser


class Tab:
    """A tab of the browser.

    When it is closed, the test fails for an error on the browser's console, such as a violation of
    the security policy, and for a request to another origin than that of the console.
    """

    def __init__(self, chromium: Chromium, page: Page, origin: str) -> None:
        self.page = page
        self._chromium = chromium
        self._origin = origin
        self._has_axe = False
        self.errors: list[str] = []
        """What the browser has reported; a test that provokes an error removes it."""
        self.do(self._listened())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.do(self.page.context.close())
        if kind is None:
            assert self.errors == []

    def do(self, work: Awaitable[T]) -> T:
        """Await what a method of the page returns."""
        return self._chromium.do(work)

    def rest(self) -> None:
        """Show nothing, as another test expects it; fails for what the browser has reported."""
        self.do(self.page.goto("about:blank"))
        self.do(self.page.set_viewport_size({"width": 1_280, "height": 720}))
        reported, self.errors = self.errors, []
        assert reported == []

    def open(self, path: str, status: int = 200) -> None:
        """Show a page, whose status must be this one."""
        response = self.do(self.page.goto(self._origin + path))
        assert isinstance(response, Response)
        assert response.status == status, path
        if status >= 400:
            # the browser reports this as an error
            self.errors = [each for each in self.errors if f"status of {status}" not in each]

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Wait at the end for the whole page that follows this one."""
        attribute = "document.documentElement.dataset.left"
        self.do(self.page.evaluate(f"{attribute} = 'yes'"))
        yield
        self.do(self.page.wait_for_selector("html:not([data-left]) main", state="attached"))
        self.do(self.page.wait_for_load_state())

    def click(self, found: Locator) -> None:
        """Click on what leads to another page, and wait for that."""
        with self.leaving():
            self.do(found.click())

    def copied(self, button: str) -> str:
        """The text that a button copies, which then says so."""
        self.do(self.page.context.grant_permissions(["clipboard-read", "clipboard-write"]))
        # the button says it for some seconds, which the test may need until it looks
        self.do(self.page.evaluate("() => { window.setTimeout = () => 0; }"))
        self.do(self.page.get_by_role("button", name=button).click())
        self.do(self.page.get_by_role("button", name="Copied").wait_for())
        return str(self.do(self.page.evaluate("navigator.clipboard.readText()")))

    def log_in(self, code: str) -> None:
        """Open the link that `comptoir console` prints, and wait for the first page."""
        self.do(self.page.goto(f"{self._origin}/console/login#{code}"))
        self.do(self.page.wait_for_url(f"{self._origin}/console"))

    def keep(self, cookies: Mapping[str, str]) -> None:
        """Send cookies, such as those of a session that began elsewhere."""
        context, url = self.page.context, self._origin
        for name, value in cookies.items():
            self.do(context.add_cookies([{"name": name, "value": value, "url": url}]))

    def darken(self, dark: bool = True) -> None:
        """Show the page in the dark colour scheme, or in the light one again."""
        self.do(self.page.emulate_media(color_scheme="dark" if dark else "light"))

    def violations(self, *, of_layout: bool = False) -> list[Violation]:
        """The rules of accessibility that the page breaks, or those alone of its layout."""
        if not self._has_axe:
            self._has_axe = True
            # sent once, for this page and all later ones
            self.do(self.page.add_init_script(self._chromium.axe))
            self.do(self.page.evaluate(self._chromium.axe))
        rules = {"type": "rule", "values": _LAYOUT_RULES} if of_layout else _ALL_RULES
        options = msgspec.json.encode({"runOnly": rules, "resultTypes": ["violations"]}).decode()
        found = self.do(
            self.page.evaluate(
                "'axe' in window || loadAxe();"
                f"axe.run(document, {options}).then(found => JSON.stringify(found.violations))"
            )
        )
        return msgspec.json.decode(str(found), type=list[Violation])

    def overflow(self, width: int) -> int:
        """The pixels by which the page is wider than a window of this width."""
        self.do(self.page.set_viewport_size({"width": width, "height": 800}))
        wide = self.do(self.page.evaluate("document.documentElement.scrollWidth"))
        return max(int(wide) - width, 0)

    def texts(self, found: Locator) -> list[str]:
        """The texts of some elements."""
        return self.do(found.all_inner_texts())

    async def _listened(self) -> None:
        """Listen to what the page reports; a listener belongs to the event loop of the browser."""
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.context.on("request", self._note_request)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _note_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if f"{parts.scheme}://{parts.netloc}" != self._origin and parts.scheme != "data":
            self.errors.append(f"a request to {request.url}")


def listed(violations: Iterable[Violation]) -> list[str]:
    """Violations as lines: the rule, what it wants, and the elements."""
    return [
        f"{each.id}: {each.help}: {' '.join(node.html for node in each.nodes)[:500]}"
        for each in violations
    ]
