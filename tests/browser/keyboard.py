"""A tab of the browser, as somebody without a mouse uses it."""

from playwright.async_api import Locator

from support.chromium import Tab

FARTHEST = 200
"""The most steps with the key Tab to an element, beyond those that are expected."""
STEPS = """wanted => {
    const reached = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    const skipped = ":disabled, [type=hidden], [type=radio]:not(:checked)";
    const all = [...document.querySelectorAll(reached)].filter(
        each => each.checkVisibility() && !each.matches(skipped));
    return all.indexOf(wanted) - all.indexOf(document.activeElement);
}"""
"""How many steps an element is expected to be after the focus."""


def forgive(tab: Tab, status: int) -> None:
    """Forget what the browser reports about a page with this status."""
    tab.errors = [each for each in tab.errors if f"status of {status}" not in each]


def press(tab: Tab, *keys: str) -> None:
    async def pressed() -> None:
        for key in keys:
            await tab.page.keyboard.press(key)

    tab.do(pressed())


def tab_to(tab: Tab, wanted: Locator) -> None:
    """Move the focus to an element as somebody without a mouse does."""
    handle = tab.do(wanted.element_handle())
    expected = tab.do(tab.page.evaluate(STEPS, handle))
    # a look costs as much as a step
    press(tab, *["Tab"] * max(0, expected))
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
