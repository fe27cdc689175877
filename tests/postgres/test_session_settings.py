"""Whatever the settings of its role or database are, the service answers the same."""

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migrate import migrate
from postgres.conftest import Served
from support.client import record
from support.postgres import Databases, name_of

UNUSUAL = {
    "standard_conforming_strings": "off",
    "default_transaction_isolation": "serializable",
    "DateStyle": "German, DMY",
    "IntervalStyle": "postgres_verbose",
    "TimeZone": "Pacific/Chatham",
    "client_encoding": "LATIN1",
    "bytea_output": "escape",
    "array_nulls": "off",
    "extra_float_digits": "-15",
}


def test_settings_of_the_database_change_no_answer(
    postgres_server: Databases, served: Served
) -> None:
    url = postgres_server.new_database()
    postgres_server.administer(
        *(
            f'ALTER DATABASE "{name_of(url)}" SET {name} = {value!r}'
            for name, value in UNUSUAL.items()
        )
    )
    migrate(Settings(database=url), MODEL)
    company = served(url).new_company()
    for name in (r"a\%b_ñ", "a%b", "other"):
        record(company.post("contactsExt", {"displayName": name}), 201)

    def found(**options: str) -> list[object]:
        query = {f"${name}": value for name, value in options.items()}
        return [each["displayName"] for each in company.listed("contactsExt", query)]

    assert found(filter=r"contains(displayName,'\%')") == [r"a\%b_ñ"]
    assert found(search='"%B_Ñ"') == [r"a\%b_ñ"]
    assert found(filter="lastModifiedDateTime le now()", orderby="displayName desc") == [
        "other",
        r"a\%b_ñ",
        "a%b",
    ]
