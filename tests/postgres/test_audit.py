"""The service can do without the right to change the audit log, to which it then only adds."""

from pathlib import Path

import pytest
from sqlalchemy.exc import ProgrammingError

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.catalog import MODEL
from comptoir.errors.refusal import Refusal
from support.clients import add_client
from support.databases import FreshDatabase, run_sql
from support.postgres import ROLE
from support.service import Service


def test_a_role_that_cannot_change_the_log_adds_to_it(
    fresh_postgres: FreshDatabase, tmp_path: Path
) -> None:
    url = fresh_postgres(tmp_path, MODEL)
    run_sql(url, f"REVOKE UPDATE, DELETE ON audit FROM {ROLE}")
    with Service(fresh_postgres, tmp_path) as service:
        webshop = add_client(service, tmp_path)
        for number in range(2):
            assert service.client.using(f"token-{number}").get("companies").status_code == 401
            assert webshop.ask(client_id=f"id-{number}").status_code == 401
    acts = [line.split('"act":"')[1] for line in webshop.command.done("audit").out.splitlines()]
    assert len([each for each in acts if each.startswith("authentication.failed")]) == 4
    assert acts[0].startswith("client.add")
    for change in ("DELETE FROM audit", "UPDATE audit SET detail = ''"):
        with pytest.raises(ProgrammingError, match="permission denied for table audit"):
            run_sql(url, change)


def test_a_role_that_cannot_trim_the_log_trims_others(
    fresh_postgres: FreshDatabase, tmp_path: Path
) -> None:
    run_sql(fresh_postgres(tmp_path, MODEL), f"REVOKE UPDATE, DELETE ON audit FROM {ROLE}")
    with Service(fresh_postgres, tmp_path) as service:
        control, act = service.admin.control, Act(Actor("service"), ActName.KEYS_ROTATE, "key")
        service.admin.wait(control.record([act, act]))
        company = service.new_company()
        company.load("shippingAgentsExt", {"code": "A"}, {"code": "B"})

        with pytest.raises(Refusal, match="lacks"):
            service.admin.trim_logs(41, log_days=40)
        assert [each.number for each in company.changes()] == [2]
        assert [each.number for each in service.admin.wait(control.audit(0, 10))] == [1, 2]
