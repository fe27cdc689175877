"""Request headers: formats, versions, and preferences in all forms that clients send."""

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.request.headers import (
    DEFAULT,
    NO_PREFERENCES,
    Format,
    Preferences,
    preferences,
    preferred_media_type,
    response_format,
    speaks_401,
)
from support.together import together

XML, JSON, TEXT = "application/xml", "application/json", "text/plain"
FULL = b"application/json;odata.metadata=full"


@together(
    ("option", "expected"),
    [
        ("json", DEFAULT),
        (" JSON ", DEFAULT),
        ("application/json", DEFAULT),
        ("application/json;odata.metadata=full", Format("full", media_type=FULL)),
        ("application/json; metadata=full", Format("full", media_type=FULL)),
        (
            "application/json;IEEE754Compatible=true",
            Format(ieee754=True, media_type=DEFAULT.media_type + b";IEEE754Compatible=true"),
        ),
    ],
)
def test_format_takes_precedence_over_accept(option: str, expected: Format) -> None:
    """OData Protocol 4.01, 11.2.12."""
    assert response_format({b"accept": b"text/html"}, option) == expected


@together(
    "option",
    [
        "xml",
        "atom",
        "",
        "text/html",
        "*/*",
        "jsonx",
        "json;odata.metadata=full",
        "application/json,application/json",
        "application/json;odata=verbose",
        '"',
        "application/xml",
    ],
)
def test_an_unsupported_format_is_406(option: str) -> None:
    with pytest.raises(Refusal) as refused:
        response_format({b"accept": b"application/json"}, option)

    assert (refused.value.error.status, refused.value.target) == (406, "$format")
    assert repr(option) in refused.value.message


@together(
    ("accept", "option", "expected"),
    [
        (None, None, XML),
        (b"", None, XML),
        (b"*/*", None, XML),
        (b"application/json", None, JSON),
        (b"application/json;odata.metadata=minimal, */*;q=0.1", None, JSON),
        (b"application/xml;q=0.5, application/json;q=0.6", None, JSON),
        (b"application/*, application/xml;q=0", None, JSON),
        (b"text/html, application/*;q=0.1", None, XML),
        (b"application/xml", "json", JSON),
        (b"application/json", "xml", XML),
        (b"application/json", "application/xml", XML),
    ],
)
def test_the_client_prefers_a_media_type(
    accept: bytes | None, option: str | None, expected: str
) -> None:
    headers = {} if accept is None else {b"accept": accept}

    assert preferred_media_type(headers, (XML, JSON), option) == expected


@together(
    ("accept", "option", "target"),
    [
        (b"text/html", None, "Accept"),
        (b"*/*;q=0", None, "Accept"),
        (b"text/*", None, "Accept"),
        (b"*/*", "atom", "$format"),
        (b"*/*", "", "$format"),
    ],
)
def test_a_media_type_that_the_resource_lacks_is_406(
    accept: bytes, option: str | None, target: str
) -> None:
    with pytest.raises(Refusal, match=f"{XML} or {JSON}") as refused:
        preferred_media_type({b"accept": accept}, (XML, JSON), option)

    assert (refused.value.error.status, refused.value.target) == (406, target)


def test_a_text_range_accepts_plain_text() -> None:
    assert preferred_media_type({b"accept": b"application/json, text/*;q=0.1"}, (TEXT,)) == TEXT


def test_odata_maxversion_allows_4_01() -> None:
    for highest, speaks in (
        (None, None),
        (b"4.0", False),
        (b"4.01", True),
        (b"4.01;X", True),
        (b"5.0", True),
    ):
        assert speaks_401({} if highest is None else {b"odata-maxversion": highest}) is speaks


def read(prefer: str) -> Preferences:
    return preferences({b"prefer": prefer.encode("latin-1")})


@together(
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


@together(
    ("prefer", "expected"),
    [
        ("return=minimal, return=representation", Preferences(returns="minimal")),
        ("maxpagesize=1, maxpagesize=2", Preferences(max_page_size=1)),
        ("maxpagesize=x, maxpagesize=2", NO_PREFERENCES),
        ("odata.maxpagesize=1, maxpagesize=2", Preferences(max_page_size=2)),
        ("maxpagesize=2, odata.maxpagesize=1", Preferences(max_page_size=2)),
    ],
)
def test_the_first_preference_and_the_name_of_4_01_take_precedence(
    prefer: str, expected: Preferences
) -> None:
    """RFC 7240, section 2; OData Protocol 4.01, 8.2.8."""
    assert read(prefer) == expected


@together(
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
def test_unknown_preferences_are_ignored(prefer: str) -> None:
    assert read(prefer) == NO_PREFERENCES


def test_an_open_quote_ends_the_header() -> None:
    assert read('return=minimal, x="open, track-changes') == Preferences(returns="minimal")


def test_a_long_header_is_read_quickly() -> None:
    for text in ('"', '"\\', '\\"', ",", ";", "=", 'a="b', "a=1,"):
        assert read(text * 100_000).returns is None


def test_applied_preferences_have_the_names_that_were_sent() -> None:
    sent = read("odata.maxpagesize=9, return=minimal, track-changes, continue-on-error=false")

    assert sent.applied() == b""
    assert sent.applied(page_size=7) == b"odata.maxpagesize=7"
    assert (
        sent.applied(page_size=7, returns=True, track_changes=True, continue_on_error=True)
        == b"return=minimal, odata.maxpagesize=7, track-changes, continue-on-error=false"
    )


def test_a_preference_that_was_not_sent_is_not_applied() -> None:
    every = NO_PREFERENCES.applied(
        page_size=7, returns=True, track_changes=True, continue_on_error=True
    )
    assert every == b""
