"""The check of whether a statement can be routed detects one that cannot."""

from support.shards import errors, may_cross
from support.together import together

OF_COMPANY = "WHERE company_id = $1::VARCHAR"
INTO = "INSERT INTO loads (digest, company_id, entity_set, rows_done) VALUES"

ROUTED = {
    "by key": f"SELECT number FROM changes {OF_COMPANY} AND number > $2",
    "nothing": f"SELECT number FROM changes {OF_COMPANY} AND false",
    "locked": f"SELECT name FROM companies {OF_COMPANY} FOR UPDATE",
    "staged": f"WITH one AS (SELECT record FROM changes {OF_COMPANY})"
    f" SELECT count(*) FROM one JOIN repeats ON request = record {OF_COMPANY}",
    "many": f"SELECT number FROM changes, unnest($2::BIGINT[]) AS wanted {OF_COMPANY}"
    " AND number = wanted",
    "deleted": f"DELETE FROM loads {OF_COMPANY}",
    "inserted": f"{INTO} ($2, $1, '', 0)",
    "copied": 'COPY "changes"("number", "company_id") FROM STDIN (FORMAT binary)',
    "not ours": "SELECT version_num FROM alembic_version",
    "by cursor": f"DECLARE one NO SCROLL CURSOR FOR SELECT number FROM changes {OF_COMPANY}",
    "of the session": "BEGIN; SET LOCAL lock_timeout = 5000",
}
UNROUTED = {
    "no company": "SELECT number FROM changes WHERE number > $1",
    "other companies": "SELECT number FROM changes WHERE company_id <> $1",
    "or else": f"SELECT number FROM changes {OF_COMPANY} OR number = $2",
    "two companies": "SELECT number FROM changes WHERE company_id IN ($1, $2)",
    "a subquery": f"SELECT number FROM changes {OF_COMPANY} AND EXISTS"
    " (SELECT FROM repeats WHERE request = record)",
    "another company": f"SELECT number FROM changes {OF_COMPANY} AND record IN"
    " (SELECT request FROM repeats WHERE company_id = $2)",
    "a stage": f"WITH one AS (SELECT record FROM changes) SELECT FROM one, repeats {OF_COMPANY}",
    "a local table": f"SELECT number FROM changes, alembic_version {OF_COMPANY}",
    "by cursor": "DECLARE one NO SCROLL CURSOR FOR SELECT number FROM changes",
    "all are locked": "SELECT name FROM companies FOR UPDATE",
    "all are updated": "UPDATE companies SET name = $1",
    "computed": f"UPDATE companies SET name = comptoir_toupper(name) {OF_COMPANY}",
    "deleted": "DELETE FROM loads WHERE digest = $1",
    "inserted by constant": f"{INTO} ($1, '', '', 0)",
    "inserted elsewhere": f"{INTO} ('', '', $1, 0)",
    "inserted by query": f"{INTO} ('', $1, '', (SELECT count(*) FROM loads {OF_COMPANY}))",
    "inserted rows": f"INSERT INTO loads SELECT * FROM loads {OF_COMPANY}",
    "copied": 'COPY "changes"("number", "record") FROM STDIN',
}


@together("name", ROUTED)
def test_a_routable_statement_passes(name: str, sharded: str) -> None:
    assert errors(sharded, {ROUTED[name]: []}) == {}


@together("name", UNROUTED)
def test_an_unroutable_statement_is_detected(name: str, sharded: str) -> None:
    (error,) = errors(sharded, {UNROUTED[name]: []}).values()
    assert not may_cross(error)


def test_the_list_of_companies_may_read_all_of_them(sharded: str) -> None:
    (error,) = errors(sharded, {"SELECT name FROM companies WHERE name > $1": []}).values()
    assert may_cross(error)
