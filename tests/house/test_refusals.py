"""Every refusal is a row: what the code raises has exactly the facts of its row."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from string import Formatter

import comptoir
from comptoir.errors import refusal_rows
from comptoir.errors.table import RefusalRow
from comptoir.features.business_central import CURRENT
from comptoir.features.business_central.profile import business_central
from comptoir.features.rehearsal.faults import FAULTS
from comptoir.features.rehearsal.faults import fault as all_faults
from comptoir.profiles.record import STANDARD
from house.rules import UNPLAIN

SOURCES = Path(comptoir.__file__).parent
OPTIONS = {"error", "details", "headers", "known"}
"""The arguments of `refuse` that are not facts."""

ADDED = {"position", "text", "place", "values"}
"""Facts that may be added where a refusal is passed on, as by a method `refuse`."""

REFUSING: Mapping[str, set[str]] = {
    "refuse": set(),
    "refuse_part": set(),
    "invalid_token": set(),
    "_beyond": {"seconds", "plural"},
    "EdmError": {"name", "field", "table"},
}
"""What is called with a row, and the facts that it adds, or that are added later."""

FAULT_MODULES = (all_faults, *(sys.modules[each.__module__] for each in FAULTS.values()))
"""The modules of faults have their own rows, and name them alone."""

IMPORTED_AS = {"rows": "refusal_rows", "problems": "errors"}

FEATURE_MODULES = [
    import_module(f"comptoir.features.{path.parent.name}.errors")
    for path in sorted(SOURCES.glob("features/*/errors.py"))
]

ROWS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": row
    for module in (refusal_rows, *FEATURE_MODULES, *FAULT_MODULES)
    for name, row in vars(module).items()
    if isinstance(row, RefusalRow)
}


def facts_in(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def facts_of(row: RefusalRow) -> set[str]:
    """The facts of a row, and of the responses that profiles have in its place."""
    templates = [row.problem, row.remedy, *row.headers.values()]
    for profile in (STANDARD, business_central(CURRENT)):
        if row.group in profile.errors:
            templates.append(profile.errors[row.group].message)
    return set().union(*map(facts_in, templates))


def rows_in(node: ast.expr) -> Iterator[str]:
    """The names of the rows in an expression, with those of their modules."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            module = IMPORTED_AS.get(each.value.id, each.value.id)
            if f"{module}.{each.attr}" in ROWS:
                yield f"{module}.{each.attr}"


class OwnRows(ast.NodeTransformer):
    """Names the rows of a module as other modules do, with the name of the module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and f"{self._module}.{node.id}" in ROWS:
            module = ast.copy_location(ast.Name(self._module, node.ctx), node)
            return ast.copy_location(ast.Attribute(module, node.id, node.ctx), node)
        return node


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCES.rglob("*.py")):
        tree = OwnRows(path.stem).visit(ast.parse(path.read_text(encoding="utf-8")))
        yield str(path.relative_to(SOURCES)), tree


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, Sequence[str]]]:
    """The calls of `refuse` with a row, and the row's names; it may be a variable."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        assigned: dict[str, list[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).extend(rows_in(node.value))
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and node.args and _name(node.func) in REFUSING:
                first = node.args[0]
                names = [*rows_in(first)]
                if isinstance(first, ast.Name):
                    names = assigned.get(first.id, [])
                if names:
                    yield node, names


def _name(function: ast.expr) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")


def test_a_refusal_has_the_facts_of_its_row() -> None:
    for path, tree in modules():
        for call, names in calls(tree):
            given = {each.arg for each in call.keywords} - OPTIONS
            if "known" in {each.arg for each in call.keywords}:
                given.discard("name")
            wanted = set().union(*[facts_of(ROWS[name]) for name in names])
            added = {"name", *ADDED, *REFUSING[_name(call.func)]}
            assert wanted - added <= given, f"{path}:{call.lineno}: the facts of {names}"
            assert given <= wanted, f"{path}:{call.lineno}: the facts of {names}"


def test_each_row_is_raised() -> None:
    raised = {
        name
        for path, tree in modules()
        if path != "profiles/business_central/errors.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        for name in rows_in(node)
    }
    assert ROWS.keys() - raised == set()


def test_only_refuse_makes_refusals() -> None:
    made = [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if path != "errors/refusal.py"
        and isinstance(node, ast.Call)
        and _name(node.func) == "Refusal"
    ]
    assert made == []


def test_a_group_has_another_response_in_a_profile() -> None:
    grouped = {
        node.args[0].value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) == "grouped"
        if isinstance(node.args[0], ast.Constant)
    }
    groups = {row.group for row in ROWS.values()} | grouped - {""}
    others = {
        root
        for profile in (STANDARD, business_central(CURRENT))
        for root in profile.routes.apis.values()
    }
    known = {group for profile in (STANDARD, business_central(CURRENT)) for group in profile.errors}
    assert (groups | others) - {""} == known


def test_a_row_is_short_enough_to_be_read() -> None:
    paths = [*SOURCES.glob("errors/*_rows.py"), *SOURCES.glob("features/*/errors.py")]
    lines = [line for path in paths for line in path.read_text().splitlines()]
    assert max(map(len, lines)) <= 140


def test_a_row_has_the_form_of_a_message() -> None:
    for name, row in ROWS.items():
        assert not UNPLAIN.search(f"{row.problem}. {row.remedy}"), name
        assert not row.problem.endswith("."), name
        assert row.remedy.endswith((".", "?", "}")), name
