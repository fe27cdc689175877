"""Ids of repeatable requests: kept as they were sent, without the blanks that a header may have."""

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.request.payload import repeatability

SENT = b"Tue, 26 Mar 2019 16:06:51 GMT"


def test_blanks_around_an_id_are_ignored() -> None:
    known = repeatability(
        {b"repeatability-request-id": b" \ta ", b"repeatability-first-sent": SENT + b" "}
    )
    assert known is not None
    assert known.request_id == "a"


def test_other_whitespace_is_part_of_an_id() -> None:
    for beside in (b"\xa0", b"\x85", b"\x1f"):
        for request_id, first_sent in ((b"a" + beside, SENT), (b"a", beside + SENT)):
            headers = {
                b"repeatability-request-id": request_id,
                b"repeatability-first-sent": first_sent,
            }
            with pytest.raises(Refusal):
                repeatability(headers)
