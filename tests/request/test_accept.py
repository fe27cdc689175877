"""`$format`, and what resources offer that answer in something else than JSON."""

import pytest

from comptoir.errors import Refusal
from comptoir.request.headers import (
    DEFAULT,
    Format,
    preferred_media_type,
    response_format,
    speaks_401,
)

XML, JSON, TEXT = "application/xml", "application/json", "text/plain"
FULL = b"application/json;odata.metadata=full"


@pytest.mark.parametrize(
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
def test_the_option_wins_over_the_header(option: str, expected: Format) -> None:
    """OData Protocol 4.01, 11.2.12."""
    assert response_format({b"accept": b"text/html"}, option) == expected


@pytest.mark.parametrize(
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
def test_an_option_that_no_format_fits_is_406(option: str) -> None:
    with pytest.raises(Refusal) as refused:
        response_format({b"accept": b"application/json"}, option)

    assert (refused.value.error.status, refused.value.target) == (406, "$format")
    assert repr(option) in refused.value.message


@pytest.mark.parametrize(
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
def test_a_resource_answers_in_what_the_client_likes_best(
    accept: bytes | None, option: str | None, expected: str
) -> None:
    headers = {} if accept is None else {b"accept": accept}

    assert preferred_media_type(headers, (XML, JSON), option) == expected


@pytest.mark.parametrize(
    ("accept", "option", "target"),
    [
        (b"text/html", None, "Accept"),
        (b"*/*;q=0", None, "Accept"),
        (b"text/*", None, "Accept"),
        (b"*/*", "atom", "$format"),
        (b"*/*", "", "$format"),
    ],
)
def test_what_a_resource_does_not_offer_is_406(
    accept: bytes, option: str | None, target: str
) -> None:
    with pytest.raises(Refusal, match=f"{XML} or {JSON}") as refused:
        preferred_media_type({b"accept": accept}, (XML, JSON), option)

    assert (refused.value.error.status, refused.value.target) == (406, target)


def test_text_is_offered_to_who_takes_any_text() -> None:
    assert preferred_media_type({b"accept": b"application/json, text/*;q=0.1"}, (TEXT,)) == TEXT


@pytest.mark.parametrize(
    ("highest", "speaks"),
    [(None, None), (b"4.0", False), (b"4.01", True), (b"4.01;X", True), (b"5.0", True)],
)
def test_a_client_says_that_it_reads_4_01(highest: bytes | None, speaks: bool | None) -> None:
    assert speaks_401({} if highest is None else {b"odata-maxversion": highest}) is speaks
