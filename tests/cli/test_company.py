"""`comptoir company`: create and list companies."""

import signal

from comptoir.edm.types import is_guid
from support.command import COMPANY, Command
from support.databases import ON_SQLITE, run_sql


def test_a_company_is_created_and_listed_with_its_id_at_the_end(migrated: Command) -> None:
    first = migrated.done("company", "create", "Zebra & Söhne").last
    assert is_guid(first)
    second = migrated.done("company", "create", "Acme", "--id", COMPANY.upper()).last
    assert second == COMPANY
    listed = migrated.done("company", "list").out.splitlines()
    assert listed == [f"Acme {second}", f"Zebra & Söhne {first}"]


def test_a_name_belongs_to_one_company_whatever_its_case(migrated: Command) -> None:
    first = migrated.done("company", "create", "Straße Süd").last_word
    for taken in ("Straße Süd", "STRASSE SÜD"):
        for command in (("company", "create", taken), ("sample", "--company-name", taken)):
            error = migrated.error(*command)
            assert f"the company {first} has the name 'Straße Süd' already. Choose" in error
    listed = migrated.done("company", "list")
    assert (listed.out, listed.err) == (f"Straße Süd {first}\n", "")


def test_names_that_companies_share_are_listed(migrated: Command) -> None:
    names = ("Acme", "Bcme", "Other")
    ids = [migrated.done("company", "create", each).last_word for each in names]
    for name, other in (("Other", "Third"), ("Bcme", "ACME")):
        run_sql(migrated.url, f"UPDATE companies SET name = '{other}' WHERE name = '{name}'")
    warning = f"WARNING: 2 companies have the name 'ACME': {ids[1]}, {ids[0]}. An address by name"

    listed = migrated.done("company", "list")

    assert len(listed.out.splitlines()) == 3
    assert listed.err.startswith(warning)
    with migrated.started("serve", "--port", "0") as process:
        assert any(line.startswith(b"Serving ") for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        assert warning in process.stderr.read().decode()


INVALID = [
    (["Acme", "--id", COMPANY], f"the company {COMPANY} already exists. Choose"),
    (["Acme", "--id", "17"], "'17' is not a company's id"),
    ([""], "is blank"),
    (["  "], "is blank"),
    (["two\nlines"], "printable"),
    (["x" * 4001], "exceeds the limit of 4000 characters"),
    ([], "Missing argument"),
]


@ON_SQLITE
def test_an_invalid_argument_is_an_error_in_one_line(ready: Command) -> None:
    for arguments, reason in INVALID:
        assert reason in ready.error("company", "create", *arguments)
