"""An assertion is accepted once, by all processes and hosts together."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from joserfc.jwk import ECKey

from comptoir.store.control import ENDED_AT_ONCE
from support.assertions import Signer, add_signer
from support.databases import run_sql
from support.server import Server
from support.service import Service, StartService

ADD_ASSERTIONS = """
WITH RECURSIVE numbers(number) AS (
    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < :count
)
INSERT INTO assertions (client, jti, expires_at)
SELECT :client, :name || number, :ends_at FROM numbers
"""


@pytest.fixture
def signer(service: Service, tmp_path: Path) -> Signer:
    return add_signer(service, tmp_path, ECKey.generate_key("P-256"))


def test_an_assertion_is_accepted_once(signer: Signer) -> None:
    """Its id counts, and not its text. One that is refused does not use its id up."""
    jti = str(uuid4())
    claims = signer.claims(jti=jti)
    stranger = ECKey.generate_key("P-256")
    assert signer.ask(signer.sign(claims, key=stranger)).status_code == 401
    assert signer.ask(signer.sign(claims)).status_code == 200
    for each in (claims, signer.claims(jti=jti, exp=time.time() + 60)):
        again = signer.ask(signer.sign(each))
        assert (again.status_code, again.json()["error"]) == (401, "invalid_client")
        assert "used before" in again.json()["error_description"]


def test_another_client_may_use_the_same_id(service: Service, tmp_path: Path) -> None:
    jti = str(uuid4())
    for _ in range(2):
        signer = add_signer(service, tmp_path, ECKey.generate_key("P-256"))
        assert signer.ask(signer.sign(signer.claims(jti=jti))).status_code == 200


def test_one_of_several_workers_accepts_an_assertion(workers: Server, tmp_path: Path) -> None:
    audience = f"{workers.origin.root}/comptoir/v2.0"
    for _ in range(4):
        # a client that failed too often would have to wait
        signer = add_signer(workers, tmp_path, ECKey.generate_key("P-256"))
        assertion = signer.sign(signer.claims(aud=audience))
        with ThreadPoolExecutor(4) as threads:
            statuses = [each.status_code for each in threads.map(signer.ask, [assertion] * 4)]
        assert sorted(statuses) == [200, 401, 401, 401]


def test_another_service_on_the_database_refuses_it(
    start_service: StartService, tmp_path: Path
) -> None:
    first = start_service()
    with Service(lambda *_: first.settings.database, tmp_path) as second:
        signer = add_signer(first, tmp_path, ECKey.generate_key("P-256"))
        elsewhere = replace(signer, service=second)
        assertion = signer.sign()
        assert signer.ask(assertion).status_code == 200
        assert elsewhere.ask(assertion).status_code == 401
        assert elsewhere.ask().status_code == 200


def test_ended_assertions_are_deleted(service: Service, signer: Signer) -> None:
    """Some at a time, and only when they have ended on hosts with other clocks too."""
    database = service.settings.database
    now, left = int(time.time()), 5
    for name, count_of, end in (("just", 1, now - 10), ("long", ENDED_AT_ONCE + left, now - 3_600)):
        run_sql(database, ADD_ASSERTIONS, client=signer.id, name=name, count=count_of, ends_at=end)
    assert signer.ask().status_code == 200

    def count() -> int:
        ((number,),) = run_sql(
            database, "SELECT count(*) FROM assertions WHERE client = :id", id=signer.id
        )
        return int(str(number))

    assert count() == left + 2
    assert signer.ask().status_code == 200
    assert count() == 3
