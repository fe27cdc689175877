"""References between the requests of a batch: dependencies, new records, ETags, `if`."""

from support.batches import HTTP, Entry, documents, multipart
from support.client import Page, Record, tag_of
from support.companies import Company
from support.samples import SHIPPING_AGENT
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
CREATE: Entry = {"method": "POST", "url": "shippingAgentsExt", "body": {"code": "A"}}
FAILS: Entry = {"method": "GET", "url": "nothingExt"}
COUNT: Entry = {"method": "GET", "url": "shippingAgentsExt/$count"}


def test_a_reference_to_a_new_record(company: Company) -> None:
    answers = documents(
        company,
        {"id": "new", **CREATE},
        {"id": "2", "method": "GET", "url": "$new", "dependsOn": ["new"]},
        {"id": "3", "method": "GET", "url": "/$new/code/$value", "dependsOn": ["new"]},
        {"id": "4", "method": "GET", "url": f"{company.root}/$new?x=1", "dependsOn": ["new"]},
    )

    assert answers["2"].read(Record)["code"] == answers["4"].read(Record)["code"] == "A"
    assert answers["3"].read(str) == "A"


def test_a_reference_to_a_record_that_was_read_or_changed(own_stock: Company) -> None:
    answers = documents(
        own_stock,
        {"id": "1", "method": "GET", "url": AGENT},
        {
            "id": "2",
            "method": "PATCH",
            "url": "$1",
            "headers": {"If-Match": "*"},
            "body": {"name": "n"},
            "dependsOn": ["1"],
        },
        {"id": "3", "method": "GET", "url": "$2", "dependsOn": ["2"]},
    )

    assert answers["3"].read(Record)["name"] == "n"


def test_a_reference_is_a_dependency(company: Company) -> None:
    """Clients omit `dependsOn` if the URL implies it."""
    answers = documents(company, {"id": "1", **FAILS}, {"id": "2", "method": "GET", "url": "$1"})

    assert answers["2"].error.code == "Request_FailedDependency"


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


@together(
    ("condition", "is_done"),
    [
        ("$good/$succeeded", True),
        ("$bad/$succeeded", False),
        ("not $bad/$succeeded", True),
        ("not $good/$succeeded or $bad/$succeeded", False),
        ("$good/$succeeded and not ($bad/$succeeded or false)", True),
        ("$bad/$succeeded and $bad/$succeeded or $good/$succeeded", True),
        ("$bad/$succeeded and ($bad/$succeeded or $good/$succeeded)", False),
        ("TRUE", True),
        (" not not  true ", True),
    ],
)
def test_a_condition_on_outcomes(condition: str, is_done: bool, company: Company) -> None:
    """It replaces the rule that all dependencies must have succeeded."""
    answers = documents(
        company,
        {"id": "good", **COUNT},
        {"id": "bad", **FAILS},
        {"id": "1", **COUNT, "dependsOn": ["good", "bad"], "if": condition},
    )

    assert answers["1"].status == (200 if is_done else 424)


@together("header", ["If-Match", "if-none-match"])
def test_a_reference_to_an_etag(header: str, own_stock: Company) -> None:
    """OData Protocol 4.01, 11.7.5."""
    guard = {header: " $1 "} if header == "If-Match" else {header: "$1", "If-Match": "*"}
    answers = documents(
        own_stock,
        {"id": "1", "method": "GET", "url": AGENT},
        {
            "id": "2",
            "method": "PATCH",
            "url": AGENT,
            "dependsOn": ["1"],
            "headers": guard,
            "body": {"name": "n"},
        },
        {
            "id": "3",
            "method": "PATCH",
            "url": AGENT,
            "dependsOn": ["1"],
            "headers": {"If-Match": "$1"},
            "body": {"name": "m"},
        },
    )

    if header == "If-Match":
        assert (answers["2"].status, answers["3"].status) == (200, 412)
    else:
        assert (answers["2"].status, answers["3"].status) == (412, 200)


def test_a_reference_to_a_missing_etag_is_refused(own_stock: Company) -> None:
    answers = documents(
        own_stock,
        {"id": "1", **COUNT},
        {"id": "2", "method": "DELETE", "url": AGENT, "headers": {"If-Match": "$1"}},
    )

    assert answers["2"].status == 400
    assert answers["2"].error.target == "If-Match"
    assert own_stock.get(AGENT).status_code == 200


def test_a_quoted_etag_is_not_a_reference(own_stock: Company) -> None:
    answers = documents(
        own_stock,
        {"id": "1", "method": "GET", "url": AGENT},
        {"id": "2", "method": "DELETE", "url": AGENT, "headers": {"If-Match": '"$1"'}},
    )

    assert answers["2"].error.code == "Request_EntityChanged"


def test_a_text_may_look_like_a_reference(company: Company) -> None:
    answers = documents(
        company,
        {"id": "1", "method": "POST", "url": "shippingAgentsExt", "body": {"code": "$1"}},
        {"id": "2", "method": "GET", "url": "shippingAgentsExt?$filter=code eq '$1'"},
    )

    assert [each["code"] for each in answers["2"].read(Page).value] == ["$1"]


def test_resources_that_begin_with_a_dollar_are_not_references(stocked: Company) -> None:
    answers = documents(
        stocked,
        {"id": "metadata", **COUNT},
        {"id": "2", "method": "GET", "url": "$metadata"},
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
