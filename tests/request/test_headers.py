"""Request headers that no client sends; the corpus has the others."""

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.request.headers import NO_PREFERENCES, Preferences, preferences, speaks_401
from comptoir.request.payload import repeatability
from support.together import together


def test_odata_maxversion_allows_4_01() -> None:
    versions = {b"4.0": False, b"4.01": True, b"4.01;X": True, b"5.0": True}
    assert {each: speaks_401({b"odata-maxversion": each}) for each in versions} == versions
    assert speaks_401({}) is None


def read(prefer: str) -> Preferences:
    return preferences({b"prefer": prefer.encode("latin-1")})


@together(
    "prefer",
    [
        *("return=minimal\xa0", "\x85respond-async", "wait=\x1f10", "maxpagesize=\xb2"),
        *("", " ", ",", ";;,,==", "=", '"', '"\\', "é=ü", "unknown", "unknown=1;x=2"),
        *('include-annotations="*,-x.*"', "respond-async, wait=10", "handling=strict"),
    ],
)
def test_unknown_preferences_are_ignored(prefer: str) -> None:
    assert read(prefer) == NO_PREFERENCES


def test_a_long_header_is_read_quickly() -> None:
    for text in ('"', '"\\', '\\"', ",", ";", "=", 'a="b', "a=1,"):
        assert read(text * 100_000).returns is None


def test_a_preference_that_was_not_sent_is_not_applied() -> None:
    every = NO_PREFERENCES.applied(
        page_size=7, returns=True, track_changes=True, continue_on_error=True
    )
    assert every == b""


SENT = b"Tue, 26 Mar 2019 16:06:51 GMT"


def sent(request_id: bytes, first_sent: bytes) -> dict[bytes, bytes]:
    return {b"repeatability-request-id": request_id, b"repeatability-first-sent": first_sent}


def test_blanks_around_an_id_are_ignored() -> None:
    known = repeatability(sent(b" \ta ", SENT + b" "))
    assert known is not None
    assert known.request_id == "a"


def test_other_whitespace_is_part_of_an_id() -> None:
    for beside in (b"\xa0", b"\x85", b"\x1f"):
        for request_id, first_sent in ((b"a" + beside, SENT), (b"a", beside + SENT)):
            with pytest.raises(Refusal):
                repeatability(sent(request_id, first_sent))
