"""Defects within a batch: the client gets the responses to the earlier requests."""

import logging
from collections.abc import Mapping
from dataclasses import replace

import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import Calculated, EntitySet, Model
from comptoir.edm.types import Stored
from support.batches import HTTP, Entry, multipart, replies, send_documents
from support.companies import Company
from support.refusals import error_in
from support.service import Service, StartService
from support.specimen import SPECIMEN


def brittle(record: Mapping[str, Stored]) -> str:
    """A derivation with a defect."""
    if record["text"] == "defect":
        raise ZeroDivisionError
    return str(record["text"])


KIND = replace(SPECIMEN, derivations=(Calculated("mirrored", ("text",), brittle, "the text"),))
WITH_DEFECT = Model((*MODEL.sets, EntitySet("specimensExt", KIND)))


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service(WITH_DEFECT)


def create(code: str, text: str, **more: str) -> Entry:
    body = {"code": code, "text": text}
    return {"id": code, "method": "POST", "url": "specimensExt", "body": body, **more}


def test_a_request_with_a_defect_is_500(company: Company, caplog: pytest.LogCaptureFixture) -> None:
    """The other requests succeed, and the log has the cause under the id of the batch."""
    answer = send_documents(
        company, [create("A", ""), create("B", "defect"), create("C", ""), create("D", "")]
    )

    assert [reply.status for reply in replies(answer)] == [201, 500, 201, 201]
    error = replies(answer)[1].error
    assert error.code == "Internal_ServerError"
    assert answer.headers["x-request-id"] in error.message
    (logged,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert answer.headers["x-request-id"] in logged.getMessage()
    assert logged.exc_info is not None
    assert len(company.listed("specimensExt")) == 3


def test_a_group_with_a_defect_changes_nothing(company: Company) -> None:
    answer = send_documents(
        company,
        [
            create("A", "", atomicityGroup="g"),
            create("B", "defect", atomicityGroup="g"),
            create("C", ""),
        ],
    )

    assert [reply.status for reply in replies(answer)] == [500, 500, 201]
    assert [each["code"] for each in company.listed("specimensExt")] == ["C"]


def test_a_batch_stops_at_a_defect(company: Company) -> None:
    request = f"--batch_1\n{HTTP}\nPOST specimensExt HTTP/1.1\nContent-Type: application/json\n\n"
    bodies = ['{"code": "A"}', '{"code": "B", "text": "defect"}', '{"code": "C"}']
    text = "".join(f"{request}{body}\n" for body in bodies) + "--batch_1--"

    done, failed = multipart(company, text)

    assert (done.status, failed.status) == (201, 500)
    assert error_in(failed.body).code == "Internal_ServerError"
    assert [each["code"] for each in company.listed("specimensExt")] == ["A"]
