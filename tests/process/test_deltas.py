"""Deltas beside writers: who follows them hears of each change once, and misses none."""

from concurrent.futures import ThreadPoolExecutor

from support.client import encoded
from support.companies import Company
from support.mirror import Mirror
from support.server import Server

WRITERS = 8
WRITES = 25
AGENTS = "shippingAgentsExt"
FILTER = encoded({"$filter": "length(name) ge 3"})


def test_a_follower_beside_many_writers_has_all_records(two: Server) -> None:
    company = two.new_company()
    mirrors = [Mirror(company, AGENTS, page_size=7), Mirror(company, AGENTS, FILTER, 7)]

    with ThreadPoolExecutor(WRITERS) as threads:
        writers = [threads.submit(write, company, number) for number in range(WRITERS)]
        while not all(writer.done() for writer in writers):
            for mirror in mirrors:
                mirror.catch_up()
                assert len(mirror.reported) == len(set(mirror.reported))
    for writer in writers:
        writer.result()

    for mirror, query in zip(mirrors, ["", FILTER], strict=True):
        mirror.catch_up()
        there = company.listed(AGENTS, query)
        assert mirror.records == {f"{company.root}/{AGENTS}({each['id']})": each for each in there}


def write(company: Company, writer: int) -> None:
    """Create records, change each twice, and delete every third."""
    for number in range(WRITES):
        created = company.post(AGENTS, {"code": f"{writer}-{number}", "name": "ab"}).json()
        path = f"{AGENTS}({created['id']})"
        for name in ("abc" * (number % 2), "abcd"[: number % 5]):
            assert company.patch(path, {"name": name}, "*").status_code == 200
        if number % 3 == 0:
            answer = company.request("DELETE", path, headers={"If-Match": "*"})
            assert answer.status_code == 204
