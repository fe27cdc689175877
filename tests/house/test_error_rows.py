"""The rows of errors for operators and for clients of the token endpoint, and where they are used.

A module imports the rows as `problems`, and makes an error from a row with the facts that its
templates name.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import signature
from string import Formatter

from comptoir.errors.oauth_rows import OAuthRow
from comptoir.errors.operator_rows import OperatorRow
from house.rules import Source
from house.sources import sources

MADE_FROM_ROWS = {"OAuthRefusal", "OperatorError", "UnreachableError"}

Row = OAuthRow | OperatorRow


def _rows(module: str) -> Mapping[str, Row]:
    named = vars(import_module(module))
    return {name: each for name, each in named.items() if isinstance(each, Row)}


def _facts(row: Row) -> set[str]:
    templates = (row.problem, row.remedy)
    fields = [field for each in templates for _, field, _, _ in Formatter().parse(each)]
    return {field.partition(".")[0] for field in fields if field}


@cache
def all_rows() -> Mapping[str, Mapping[str, Row]]:
    """The rows of each module that has some."""
    names = (each.name for each in sources() if each.name.endswith(("rows", "errors")))
    return {name: rows for name in names if (rows := _rows(name))}


def _imported(tree: ast.Module) -> str | None:
    """The module that a module imports as `problems`."""
    for each in tree.body:
        if isinstance(each, ast.ImportFrom) and each.names[0].asname == "problems":
            return f"{each.module}.{each.names[0].name}"
    return None


def _uses(source: Source) -> Iterator[ast.Attribute]:
    for each in source.nodes:
        if isinstance(each, ast.Attribute) and getattr(each.value, "id", "") == "problems":
            yield each


def test_each_row_is_used() -> None:
    used = {(_imported(each.tree), use.attr) for each in sources() for use in _uses(each)}
    unused = [
        (module, row)
        for module, rows in all_rows().items()
        for row in rows
        if (module, row) not in used
    ]
    assert not unused, "remove these rows"


def test_each_error_is_made_from_a_row() -> None:
    places = [
        f"{source.name}:{each.lineno}"
        for source in sources()
        if source.name not in all_rows()
        for each in source.nodes
        if isinstance(each, ast.Call) and getattr(each.func, "id", "") in MADE_FROM_ROWS
    ]
    assert not places, "add a row to operator_rows.py or oauth_rows.py, and call it"


def test_each_call_has_the_facts_of_its_row() -> None:
    for source in sources():
        uses = set(_uses(source))
        for each in source.nodes:
            if isinstance(each, ast.Call) and each.func in uses:
                assert isinstance(each.func, ast.Attribute)
                row = all_rows()[str(_imported(source.tree))][each.func.attr]
                named = {str(keyword.arg) for keyword in each.keywords}
                given = named - signature(type(row).__call__).parameters.keys()
                assert given == _facts(row), f"{source.name}:{each.lineno}: {each.func.attr}"


def test_a_fact_is_not_a_template() -> None:
    error = OperatorRow("{path} is damaged: {reason}", "Remove {path}.")(path="{x}", reason="{}")
    assert str(error) == "{x} is damaged: {}. Remove {x}."


def test_a_suggestion_takes_the_place_of_the_remedy() -> None:
    row = OperatorRow("the role {name} does not exist", "Add it.")
    assert str(row(name="x", suggested="Did you mean {y}?")) == (
        "the role x does not exist. Did you mean {y}?"
    )
    assert str(row(name="x", suggested="")) == "the role x does not exist. Add it."
