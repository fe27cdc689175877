"""`Prefer`: every form that clients write, what contradicts itself, and nonsense."""

import pytest

from comptoir.request.headers import NO_PREFERENCES, Preferences, preferences


def read(prefer: str) -> Preferences:
    return preferences({b"prefer": prefer.encode("latin-1")})


@pytest.mark.parametrize(
    ("prefer", "name", "value"),
    [
        ("return=minimal", "returns", "minimal"),
        ("Return = Representation", "returns", "representation"),
        ('return="minimal"', "returns", "minimal"),
        ("return=minimal;foo=bar", "returns", "minimal"),
        ("respond-async, return=minimal", "returns", "minimal"),
        ("x; y=','; z=\"return=minimal\", return=representation", "returns", "representation"),
        ('x="a, return=minimal"', "returns", None),
        ("return=everything", "returns", None),
        ("return", "returns", None),
        ("odata.maxpagesize=50", "max_page_size", 50),
        ("maxpagesize=50", "max_page_size", 50),
        ("maxpagesize=0", "max_page_size", None),
        ("maxpagesize=-1", "max_page_size", None),
        ("maxpagesize=1.5", "max_page_size", None),
        ("maxpagesize=\xb2", "max_page_size", None),
        ("odata.track-changes", "track_changes", True),
        ("track-changes", "track_changes", True),
        ("", "track_changes", False),
        ("odata.continue-on-error", "continue_on_error", True),
        ("continue-on-error=true", "continue_on_error", True),
        ("continue-on-error=false", "continue_on_error", False),
        ("continue-on-error=perhaps", "continue_on_error", None),
        ("", "continue_on_error", None),
    ],
)
def test_a_preference_has_its_value(prefer: str, name: str, value: object) -> None:
    assert getattr(read(prefer), name) == value


@pytest.mark.parametrize(
    ("prefer", "expected"),
    [
        ("return=minimal, return=representation", Preferences(returns="minimal")),
        ("maxpagesize=1, maxpagesize=2", Preferences(max_page_size=1)),
        ("maxpagesize=x, maxpagesize=2", NO_PREFERENCES),
        ("odata.maxpagesize=1, maxpagesize=2", Preferences(max_page_size=2)),
        ("maxpagesize=2, odata.maxpagesize=1", Preferences(max_page_size=2)),
    ],
)
def test_of_contradicting_preferences_the_first_counts_and_the_name_of_4_01(
    prefer: str, expected: Preferences
) -> None:
    """RFC 7240, section 2; OData Protocol 4.01, 8.2.8."""
    assert read(prefer) == expected


@pytest.mark.parametrize(
    "prefer",
    [
        "return=minimal\xa0",
        "\x85respond-async",
        "wait=\x1f10",
        "",
        " ",
        ",",
        ";;,,==",
        "=",
        "unknown",
        "unknown=1;x=2",
        'include-annotations="*,-x.*"',
        "respond-async, wait=10",
        "handling=strict",
        '"',
        '"\\',
        "é=ü",
    ],
)
def test_what_nobody_knows_is_left_out(prefer: str) -> None:
    assert read(prefer) == NO_PREFERENCES


def test_an_open_quote_ends_what_is_read() -> None:
    assert read('return=minimal, x="open, track-changes') == Preferences(returns="minimal")


@pytest.mark.parametrize("text", ['"', '"\\', '\\"', ",", ";", "=", 'a="b', "a=1,"])
@pytest.mark.timeout(20)
def test_a_long_header_is_read_without_growing_slow(text: str) -> None:
    assert read(text * 100_000).returns is None


def test_what_was_applied_is_named_as_it_was_sent() -> None:
    sent = read("odata.maxpagesize=9, return=minimal, track-changes, continue-on-error=false")

    assert sent.applied() == b""
    assert sent.applied(page_size=7) == b"odata.maxpagesize=7"
    assert (
        sent.applied(page_size=7, returns=True, track_changes=True, continue_on_error=True)
        == b"return=minimal, odata.maxpagesize=7, track-changes, continue-on-error=false"
    )


def test_what_was_not_asked_for_was_not_applied() -> None:
    every = NO_PREFERENCES.applied(
        page_size=7, returns=True, track_changes=True, continue_on_error=True
    )
    assert every == b""
