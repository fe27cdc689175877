"""Reads on a standby that follows by streaming replication: old where that is allowed, only there.

While the replay of the standby is paused, it shows what the primary had before.
"""

from collections.abc import Mapping

import httpx
import pytest

from postgres.conftest import Served
from postgres.following import Followed, Pair
from support.batches import Entry, replies, send_documents
from support.client import Record, page, tag_of, values
from support.companies import Company
from support.pgbouncer import pooled
from support.replicas import READ_ONLY, outcomes, token

AGENT = {"code": "DHL", "name": "old"}


def names(response: httpx.Response) -> list[object]:
    return [each["name"] for each in values(response)]


@pytest.mark.parametrize("intent", ["ReadOnly", "readonly", "READONLY "])
def test_a_read_that_only_reads_may_be_old(followed: Followed, intent: str) -> None:
    followed.standby.pause()
    followed.rename("new")

    assert followed.name({"Data-Access-Intent": intent}) == "old"

    followed.standby.resume()
    assert followed.name({"Data-Access-Intent": intent}) == "new"
    assert outcomes(followed.service) == {"replica": 2}


def test_what_companies_contain_may_be_old_where_the_intent_says_so(followed: Followed) -> None:
    """A token is of one company, and the list is of several: with it, the primary answers."""
    followed.standby.pause()
    written = token(followed.rename("new"))

    assert followed.expanded(READ_ONLY) == "old"
    assert followed.expanded() == "new"
    assert followed.expanded({**written, **READ_ONLY}) == "new"
    assert outcomes(followed.service) == {"replica": 1}


def test_other_reads_are_never_old(followed: Followed) -> None:
    followed.standby.pause()
    followed.rename("new")

    assert followed.name() == "new"
    assert followed.name({"Data-Access-Intent": "ReadWrite"}) == "new"
    assert outcomes(followed.service) == {}


def test_a_token_lets_a_client_read_its_own_write(followed: Followed) -> None:
    followed.standby.pause()
    written = token(followed.rename("new"))

    assert followed.name(written) == "new"
    assert followed.name({**written, **READ_ONLY}) == "new"
    assert outcomes(followed.service) == {"behind": 2}

    followed.standby.resume()
    assert followed.name(written) == "new"
    assert followed.name({**written, **READ_ONLY}) == "new"
    assert outcomes(followed.service) == {"behind": 2, "replica": 2}


def test_a_request_that_the_primary_begins_to_answer_is_its_own_to_the_end(
    followed: Followed,
) -> None:
    followed.standby.pause()
    written = token(followed.rename("new"))

    read = page(followed.company.get("shippingAgentsExt", "$count=true", written))

    assert (read.count, read.value[0]["name"]) == (1, "new")
    assert outcomes(followed.service) == {"behind": 1}


def test_a_token_asks_for_no_more_than_its_write(followed: Followed) -> None:
    written = token(followed.rename("second"))
    followed.standby.catch_up()
    followed.standby.pause()
    followed.rename("third")

    assert followed.name(written) == "second"
    assert followed.name({**written, "Data-Access-Intent": "ReadWrite"}) == "third"


def test_a_delete_is_seen_by_its_token(followed: Followed) -> None:
    followed.standby.pause()
    deleted = token(followed.company.delete(followed.path, if_match="*"))

    assert followed.company.get(followed.path, headers=READ_ONLY).status_code == 200
    assert followed.company.get(followed.path, headers=deleted).status_code == 404


def test_every_way_to_read_is_answered_by_the_replica(followed: Followed) -> None:
    company = followed.company
    company.post("itemsExt", {"number": "1000", "displayName": "Chair"})
    company.post(
        "itemTranslationsExt", {"itemNo": "1000", "languageCode": "DEA", "description": "Stuhl"}
    )
    followed.standby.catch_up()
    followed.standby.pause()
    followed.rename("new")
    company.post("shippingAgentsExt", {"code": "UPS", "name": "UPS"})
    company.post(
        "itemTranslationsExt", {"itemNo": "1000", "languageCode": "ENU", "description": "Chair"}
    )

    def read(path: str, query: str = "") -> httpx.Response:
        response = company.get(path, query, READ_ONLY)
        assert response.status_code == 200, response.text
        return response

    assert names(read("shippingAgentsExt")) == ["old"]
    assert names(read("shippingAgentsExt", "$search=old")) == ["old"]
    assert names(read("shippingAgentsExt", "$filter=matchesPattern(name,'^o')")) == ["old"]
    assert names(read("shippingAgentsExt", "$orderby=name desc&$top=1")) == ["old"]
    assert page(read("shippingAgentsExt", "$count=true&$top=0")).count == 1
    assert read("shippingAgentsExt/$count").text == "1"
    assert read("shippingAgentsExt/$count", "$search=ups").text == "0"
    assert read(f"{followed.path}/name/$value").text == "old"
    grouped = read("shippingAgentsExt", "$apply=groupby((name))").json()["value"]
    assert [each["name"] for each in grouped] == ["old"]
    (item,) = read("itemsExt", "$expand=translations($count=true)").json()["value"]
    assert item["translations@odata.count"] == len(item["translations"]) == 1
    assert len(page(read("itemsExt(number='1000')/translations")).value) == 1
    assert company.request("HEAD", followed.path, headers=READ_ONLY).status_code == 200
    assert set(outcomes(followed.service)) == {"replica"}


def test_a_company_that_the_replica_does_not_know_yet_is_read_all_the_same(
    followed: Followed,
) -> None:
    followed.standby.pause()
    company = followed.service.new_company()
    created = company.post("shippingAgentsExt", AGENT)

    for headers in (READ_ONLY, token(created)):
        assert names(company.get("shippingAgentsExt", headers=headers)) == ["old"]
    companies = followed.service.client.get("companies", headers=READ_ONLY)
    assert company.id in [each["id"] for each in values(companies)]
    assert outcomes(followed.service) == {"behind": 2}


def test_pages_from_either_side_tell_each_record_once(followed: Followed) -> None:
    company = followed.company
    company.load("campaignsExt", *[{"number": f"C-{n:03}"} for n in range(0, 60, 2)])
    followed.standby.catch_up()
    followed.standby.pause()
    written = company.post("campaignsExt", {"number": "C-999"})

    sent: list[Mapping[str, str]] = [READ_ONLY, {}, token(written), READ_ONLY]
    numbers: list[object] = []
    response = company.get(
        "campaignsExt", "$orderby=number", {"Prefer": "maxpagesize=9", **READ_ONLY}
    )
    while (read := page(response)).next_link:
        numbers += [each["number"] for each in read.value]
        turn = sent[len(numbers) // 9 % len(sent)]
        response = company.follow(read.next_link, {"Prefer": "maxpagesize=9", **turn})
    numbers += [each["number"] for each in read.value]

    assert numbers[:30] == [f"C-{n:03}" for n in range(0, 60, 2)]
    assert numbers[30:] in ([], ["C-999"])


def tracked(company: Company, headers: Mapping[str, str]) -> str:
    """The link to the changes since now."""
    response = company.get("shippingAgentsExt", headers={"Prefer": "track-changes", **headers})
    return str(response.json()["@odata.deltaLink"])


def changes(company: Company, link: str, headers: Mapping[str, str]) -> tuple[list[object], str]:
    """The names in the changes behind a link, and the link to what follows."""
    response = company.follow(link, headers)
    assert response.status_code == 200, response.text
    told = response.json()
    return [each.get("name") for each in told["value"]], told["@odata.deltaLink"]


def test_changes_are_told_once_by_whichever_side_is_asked(followed: Followed) -> None:
    company, standby = followed.company, followed.standby
    link = tracked(company, READ_ONLY)
    standby.pause()
    followed.rename("second")

    told, link = changes(company, link, READ_ONLY)
    assert told == [], "the replica has not heard of it"
    told, link = changes(company, link, {})
    assert told == ["second"]
    followed.rename("third")
    told, link = changes(company, link, READ_ONLY)
    assert told == ["third"], "the link is ahead of the replica, so the primary follows it"

    standby.resume()
    told, link = changes(company, link, READ_ONLY)
    assert told == []
    followed.rename("fourth")
    standby.catch_up()
    assert changes(company, link, READ_ONLY)[0] == ["fourth"]
    assert outcomes(followed.service) == {"replica": 4, "behind": 1}


def test_changes_are_tracked_from_the_state_that_was_read(followed: Followed) -> None:
    followed.standby.pause()
    followed.rename("new")

    link = tracked(followed.company, READ_ONLY)

    assert changes(followed.company, link, {})[0] == ["new"]


def test_the_reads_of_a_batch_take_the_intent_and_the_token_of_the_batch(
    followed: Followed,
) -> None:
    followed.standby.pause()
    written = token(followed.rename("new"))
    reads: list[Entry] = [
        {"id": "1", "method": "GET", "url": followed.path},
        {
            "id": "2",
            "method": "GET",
            "url": followed.path,
            "headers": {"Data-Access-Intent": "ReadWrite"},
        },
        {"id": "3", "method": "GET", "url": followed.path, "headers": written},
    ]

    def read(headers: Mapping[str, str]) -> list[object]:
        answers = replies(send_documents(followed.company, reads, headers))
        return [each.read(Record)["name"] for each in answers]

    assert read({}) == ["new", "new", "new"]
    assert read(READ_ONLY) == ["old", "new", "new"]
    assert read({**READ_ONLY, **written}) == ["new", "new", "new"]
    followed.standby.resume()
    assert read(READ_ONLY) == ["new", "new", "new"]


def test_a_batch_sees_what_it_has_written(followed: Followed) -> None:
    followed.standby.pause()
    reading = {"method": "GET", "url": followed.path, "headers": READ_ONLY}
    writing = {
        "id": "2",
        "method": "PATCH",
        "url": followed.path,
        "headers": {"If-Match": "*", "Content-Type": "application/json"},
        "body": {"name": "new"},
    }

    batch = [{"id": "1", **reading}, writing, {"id": "3", **reading}]
    answers = replies(send_documents(followed.company, batch))

    assert [each.read(Record)["name"] for each in answers] == ["old", "new", "new"]


def test_a_tag_read_from_the_replica_guards_as_any_other(followed: Followed) -> None:
    followed.standby.pause()
    followed.rename("new")
    stale = followed.company.get(followed.path, headers=READ_ONLY)

    refused = followed.company.patch(followed.path, {"name": "lost"}, if_match=tag_of(stale))

    assert refused.status_code == 412
    assert followed.name() == "new"


def test_a_replica_behind_pgbouncer_is_read_in_one_transaction(pair: Pair, served: Served) -> None:
    url = pair.new_database()
    with pooled(pair.standby, pair.standby.url_of(url)) as through:
        service = served(url, read_database=through, statement_cache=0)
        company = service.new_company()
        company.load("campaignsExt", *[{"number": f"C-{n}"} for n in range(50)])
        written = token(company.post("campaignsExt", {"number": "C-50"}))
        pair.standby.catch_up()
        found = service.send_all(
            [company.build("GET", "campaignsExt/$count", headers=written) for _ in range(20)]
        )
        read = company.get("campaignsExt", "$search=c-", READ_ONLY)

    assert [each.text for each in found] == ["51"] * 20
    assert len(page(read).value) == 51
    assert outcomes(service) == {"replica": 21}
