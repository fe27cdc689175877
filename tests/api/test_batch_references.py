"""References between the requests of a batch: dependencies, new records, ETags, `if`."""

from support.batches import HTTP, Entry, documents, multipart
from support.client import tag_of
from support.companies import Company
from support.samples import SHIPPING_AGENT

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
CREATE: Entry = {"method": "POST", "url": "shippingAgentsExt", "body": {"code": "A"}}
FAILS: Entry = {"method": "GET", "url": "nothingExt"}
COUNT: Entry = {"method": "GET", "url": "shippingAgentsExt/$count"}


def test_a_request_that_depends_on_a_failed_one_is_not_processed(company: Company) -> None:
    answers = documents(
        company,
        {"id": "1", **CREATE},
        {"id": "2", **FAILS},
        {"id": "3", "method": "POST", "url": "shippingAgentsExt", "dependsOn": ["1", "2"]},
        {"id": "4", **COUNT, "dependsOn": ["3"]},
        {"id": "5", **COUNT, "dependsOn": ["1"]},
    )

    assert [answers[name].status for name in "12345"] == [201, 404, 424, 424, 200]
    assert "2" in answers["3"].error.message
    assert answers["5"].read(str) == "1"


def test_a_304_does_not_satisfy_a_dependency(own_stock: Company) -> None:
    """A dependency requires a 2xx response (OData JSON Format 4.01, 19.1)."""
    tag = tag_of(own_stock.get(AGENT))
    answers = documents(
        own_stock,
        {"id": "1", "method": "GET", "url": AGENT, "headers": {"If-None-Match": tag}},
        {"id": "2", **COUNT, "dependsOn": ["1"]},
    )

    assert [answers["1"].status, answers["2"].status] == [304, 424]


def test_resources_that_begin_with_a_dollar_are_not_references(stocked: Company) -> None:
    answers = documents(
        stocked, {"id": "metadata", **COUNT}, {"id": "2", "method": "GET", "url": "$metadata"}
    )

    assert bytes(answers["2"].body) != bytes(answers["metadata"].body)


def test_a_reference_after_change_sets(company: Company) -> None:
    """Clients restart their numbering in each change set: the last request with an id counts."""
    create = "POST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n"

    def changes(code: str) -> str:
        return (
            f"--batch_1\nContent-Type: multipart/mixed; boundary=cs\n\n"
            f'--cs\n{HTTP}Content-ID: 1\n\n{create}{{"code": "{code}"}}\n'
            f"--cs\n{HTTP}Content-ID: 2\n\nPATCH $1 HTTP/1.1\nIf-Match: *\n"
            f'Content-Type: application/json\n\n{{"name": "{code}"}}\n--cs--\n'
        )

    read = f"--batch_1\n{HTTP}\nGET $1 HTTP/1.1\n\n"
    text = f"{changes('A')}{changes('B')}{read}--batch_1--\n"

    first, second, last = multipart(company, text)

    assert [part.status for part in (*first.parts, *second.parts)] == [201, 200, 201, 200]
    assert b'"code":"B","name":"B"' in last.body
