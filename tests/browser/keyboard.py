"""A tab of the browser, as somebody without a mouse uses it."""

from playwright.async_api import Locator

from support.chromium import Tab

FARTHEST = 200
"""The most steps with the key Tab to an element."""


def forgive(tab: Tab, status: int) -> None:
    """Forget what the browser reports about a page with this status."""
    tab.errors = [each for each in tab.errors if f"status of {status}" not in each]


def press(tab: Tab, *keys: str) -> None:
    for key in keys:
        tab.do(tab.page.keyboard.press(key))


def tab_to(tab: Tab, wanted: Locator) -> None:
    """Move the focus to an element as somebody without a mouse does."""
    handle = tab.do(wanted.element_handle())
    for _ in range(FARTHEST):
        if tab.do(tab.page.evaluate("element => element === document.activeElement", handle)):
            return
        press(tab, "Tab")
    raise AssertionError(f"the keyboard does not reach {wanted}")


def submit(tab: Tab, button: str) -> None:
    """Press a button by the keyboard, and wait for the page that it leads to."""
    tab_to(tab, tab.page.get_by_role("button", name=button, exact=True))
    with tab.leaving():
        press(tab, "Enter")
