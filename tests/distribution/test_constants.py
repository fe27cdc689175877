"""Statements with a constant condition on related records can be routed.

If the planner infers that no related record can match, it removes the table from the plan, with the
conditions on the company and on the relation. Citus then has no condition to route by.
"""

from collections.abc import Iterator

import pytest

from comptoir.store.postgres import reader
from support.companies import Company
from support.postgres_proxy import StatementProxy, Values
from support.service import Service
from support.shards import errors, tables_read
from support.together import together

ITEM = {"number": "CHAIR", "displayName": "Chair"}
TRANSLATION = {"itemNo": "CHAIR", "languageCode": "DEU", "description": "Stuhl"}

HOLDING = {
    "all, a true function": ("translations/all(v:contains('',''))", True),
    "all, a false function": ("translations/all(v:contains('','x'))", False),
    "all, true": ("translations/all(v:true)", True),
    "all, false": ("translations/all(v:false)", False),
    "any, a false function": ("translations/any(v:contains('a','b'))", False),
    "any, a true function": ("translations/any(v:contains('b','b'))", True),
    "any, false": ("translations/any(v:false)", False),
    "any, a comparison": ("translations/any(v:1 eq 2)", False),
    "any, a list": ("translations/any(v:'a' in ('b','c'))", False),
    "any, null": ("translations/any(v:null)", False),
    "all, null": ("translations/all(v:null eq null)", True),
    "any, no branch": ("translations/any(v:case(false:v/description) eq 'Stuhl')", False),
    "any, a branch": ("translations/any(v:case(1 eq 1:v/description) eq 'Stuhl')", True),
    "any, of null": ("translations/any(v:concat(v/description,null) eq 'Stuhl')", False),
    "any, is null": ("translations/any(v:v/description eq null)", False),
    "any, false and": ("translations/any(v:1 eq 2 and v/description eq 'Stuhl')", False),
    "any, true and": ("translations/any(v:1 eq 1 and v/description eq 'Stuhl')", True),
    "all, true or": ("translations/all(v:1 eq 1 or v/description eq 'Stuhl')", True),
    "all, not false": ("translations/all(v:not (2 eq 1))", True),
    "any, a pattern": ("translations/any(v:matchesPattern('a','b'))", False),
    "any, a sum": ("translations/any(v:1 add 1 eq 3)", False),
    "any, in any": ("translations/any(v:translations/any(w:1 eq 2))", False),
    "any, of the item": ("translations/any(v:number eq 'TABLE')", False),
    "any, deep": (f"translations/any(v:{'not (' * 60}1 eq 2{')' * 60})", False),
    "not any": ("not translations/any(v:1 eq 2)", True),
}


@pytest.fixture(scope="module")
def heard(
    sharded: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Company, dict[str, list[Values]]]]:
    """A company with an item and its translation, and the executed statements."""
    folder = tmp_path_factory.mktemp("heard")
    with (
        pytest.MonkeyPatch.context() as patch,
        StatementProxy(sharded) as proxy,
        Service(lambda *_: proxy.url, folder) as service,
    ):
        # on a busy machine, a read may be slow, and would run by a cursor
        patch.setattr(reader, "SLOW_SECONDS", 60.0)
        company = service.new_company()
        company.load("itemsExt", ITEM)
        company.load("itemTranslationsExt", TRANSLATION)
        yield company, proxy.statements


@together("name", HOLDING)
def test_constant_conditions_on_related_records_are_routed(
    name: str, sharded: str, heard: tuple[Company, dict[str, list[Values]]]
) -> None:
    condition, holds = HOLDING[name]
    company, statements = heard
    statements.clear()
    assert len(company.listed("itemsExt", {"$filter": condition})) == int(holds)

    asked = dict(statements)
    tables = [each for each in tables_read(sharded, asked).values() if "itemsExt" in each]
    assert tables == [{"itemsExt", "itemTranslationsExt"}]
    assert not errors(sharded, asked)
