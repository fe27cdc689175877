"""The service only adds to the audit log, so it can do without the right to change it."""

from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.errors.refusal import OperatorError
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
        with pytest.raises(OperatorError, match="permission denied for table audit"):
            run_sql(url, change)
