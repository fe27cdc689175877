"""A stop ends although the database hangs."""

from pathlib import Path

from support.client import record
from support.databases import migrated
from support.postgres import Postgres
from support.server import Server
from support.sockets import in_full, send


def test_a_stop_does_not_wait_for_a_database_that_hangs(
    own_server: Postgres, tmp_path: Path
) -> None:
    with Server.over(lambda *_: migrated(own_server), tmp_path, stop_seconds=1) as server:
        company = server.new_company()
        record(company.post("campaignsExt", {"number": "C-1"}), 201)
        with own_server.hung(), server.connect() as client:
            send(client, in_full(company.build("POST", "campaignsExt", body={"number": "C-2"})))
            # when another request has its response, the write waits for the database
            assert server.origin.get("healthz").status_code == 200
            server.ask_to_stop()
            server.wait()
        assert "Traceback" not in server.log.read_text()
        server.start()
        assert len(server.again(company).listed("campaignsExt")) in (1, 2)
