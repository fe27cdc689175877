"""Each house rule finds its violations, and nothing else."""

from collections.abc import Callable, Iterator
from itertools import chain

from house import rules
from house.rules import Source, Violation
from support.together import together

BASE = "src/comptoir"


def module(name: str, text: str = "") -> Source:
    return Source(f"{BASE}/{name}", text)


def long_function(lines: int) -> str:
    return "def long():\n" + "    step()\n" * (lines - 1)


UPWARD = [
    ("edm/types.py", "import comptoir.plan.bind"),
    ("edm/types.py", "from comptoir import plan"),
    ("edm/types.py", "from comptoir.config import Settings"),
    ("errors.py", "from comptoir.config import Settings"),
    ("config.py", "from .edm import Model"),
    ("sql/read.py", "from ..response import body"),
    ("response/body.py", "from comptoir.sql import read"),
    ("store/sqlite.py", "from comptoir.service import read"),
    ("service.py", "from comptoir.http.api import Api"),
    ("service/reads.py", "from comptoir.features.transfer.load import load_source"),
    ("http/api.py", "from comptoir.features.transfer.load import load_source"),
    ("features/transfer/__init__.py", "from comptoir.http.api import Api"),
    ("features/__init__.py", "from comptoir.features.console.app import console"),
    ("http/api.py", "from comptoir.app import build"),
    ("app.py", "from comptoir.cli import main"),
    ("plan/bind.py", "from comptoir.newcomer import x"),
    ("request/path.py", "from comptoir.edm import Model"),
    ("metadata/csdl.py", "from comptoir.catalog import MODEL"),
    ("metadata/csdl.py", "from comptoir.auth import keys"),
    ("cli/serve.py", "from comptoir.features.samples.command import prepared"),
    ("cli/serve.py", "import pytest"),
    ("http/api.py", "from comptoir.catalog import MODEL"),
    ("plan/bind.py", "import comptoir.catalog.contact"),
    ("plan/bind.py", "import sqlalchemy as sa"),
    ("edm/types.py", "from sqlalchemy.types import Text"),
    ("store/sqlite.py", "def late():\n    from comptoir import http"),
]
DOWNWARD = [
    ("config.py", "from comptoir.errors import OperatorError"),
    ("edm/__init__.py", "from .types import Text\nfrom comptoir.edm.model import Model"),
    ("edm/types.py", "from comptoir import __version__"),
    ("request/path.py", "from comptoir.errors import BAD_REQUEST"),
    ("metadata/csdl.py", "from comptoir.edm import Model"),
    ("sql/read.py", "import sqlalchemy\nfrom comptoir.plan import ReadPlan"),
    ("features/transfer/load.py", "from comptoir.store.store import Store"),
    ("features/samples/command.py", "from comptoir.cli import options"),
    ("cli/main.py", "from comptoir.features import FEATURES"),
    ("app.py", "from comptoir.catalog import MODEL\nfrom comptoir.http import api"),
    ("cli/serve.py", "from comptoir.app import build\nfrom comptoir.catalog import MODEL"),
    ("__main__.py", "from comptoir.cli import main"),
    ("http/api.py", "from http import HTTPStatus\nimport http.client"),
]


def test_an_import_upward_or_aside_is_found() -> None:
    found = [[*rules.wrong_directions([module(path, text)])] for path, text in UPWARD]
    places = [[(each.path, each.line) for each in some] for some in found]
    assert places == [[(f"{BASE}/{path}", text.count("\n") + 1)] for path, text in UPWARD]


def test_an_import_downward_passes() -> None:
    found = [*chain(*(rules.wrong_directions([module(*each)]) for each in DOWNWARD))]
    assert found == []


def test_a_module_outside_the_stations_is_found() -> None:
    known = [module("__init__.py"), module("edm/types.py"), module("features/transfer/load.py")]
    (found,) = rules.unknown_stations([*known, module("utils/misc.py")])
    assert "'utils' is no station" in str(found)


@together(
    ("path", "first", "second"),
    [
        ("edm/b.py", "from comptoir.edm.b import B", "from comptoir.edm.a import A"),
        ("edm/b.py", "from comptoir.edm.b import B", "import comptoir.edm.a"),
        ("edm/b.py", "from comptoir.edm.b import B", "from comptoir.edm import a"),
        ("edm/b.py", "from comptoir.edm.b import B", "from .a import A"),
        ("edm/b.py", "from comptoir.edm.b import B", "from . import a"),
        ("edm/__init__.py", "from comptoir.edm import A", "from comptoir.edm.a import A"),
    ],
)
def test_a_cycle_is_found(path: str, first: str, second: str) -> None:
    (found,) = rules.cycles([module("edm/a.py", first), module(path, second)])
    assert "import cycle" in found.message
    assert "comptoir.edm.a" in found.message
    assert module(path).name in found.message


def test_a_tree_of_imports_is_no_cycle() -> None:
    package = module("edm/__init__.py", "from .a import A\nfrom .b import B")
    first = module("edm/a.py", "from comptoir.edm.b import B")
    assert not list(rules.cycles([package, first, module("edm/b.py")]))


Rule = Callable[[Source], Iterator[Violation]]
BROKEN: list[tuple[Rule, str, int]] = [
    (rules.long_modules, "x = 1\n" * 701, 701),
    (rules.long_functions, "\n" + long_function(81), 2),
    (rules.long_functions, "class Wide:\n    def long(self):\n" + "        step()\n" * 80, 2),
    (rules.blind_excepts, "try:\n    pass\nexcept:\n    pass", 3),
    (rules.blind_excepts, "try:\n    pass\nexcept Exception:\n    pass", 3),
    (rules.blind_excepts, "try:\n    pass\nexcept (ValueError, BaseException):\n    pass", 3),
    (rules.blind_excepts, "with contextlib.suppress(builtins.Exception):\n    pass", 1),
    (rules.bare_todos, "x = 1  # TODO", 1),
    (rules.bare_todos, "# TODO: later", 1),
    (rules.bare_todos, "x = 1\n# FIXME: the wrong answer on leap days", 2),
    (rules.atomic_groups, "x = r'(?:a|b)*+'", 1),
    (rules.atomic_groups, "x = 1\ny = rb'(?>a|b)'", 2),
    (rules.atomic_groups, "x = rf'(?:{y}){{2,3}}+'", 1),
    (rules.message_forms, "BAD_REQUEST.row('It is wrong.', 'Correct it.')", 1),
    (rules.message_forms, "BAD_REQUEST.row(f'{x} is wrong.', 'Correct it.')", 1),
    (rules.message_forms, "BAD_REQUEST.row('It is wrong', 'Correct it')", 1),
    (rules.message_forms, "x = 1\nremedy = 'Correct it' if x else 'Remove it.'", 2),
    (rules.message_forms, "errors.ERROR.row('It is wrong', 'Correct')", 1),
    (rules.message_forms, "OperatorError('No file', remedy=f'{x}: create it')", 1),
    (rules.message_forms, "problem = f'{x} is no property'", 1),
    (rules.message_forms, "problem = 'We do not know it'", 1),
    (rules.message_forms, "problem = f'There is no company {x}'", 1),
    (rules.message_forms, "problem = f'there already is a company {x}'", 1),
]
KEPT: list[tuple[Rule, str]] = [
    (rules.long_modules, "x = 1\n" * 700),
    (rules.long_functions, long_function(80)),
    (rules.blind_excepts, "try:\n    pass\nexcept (OSError, ValueError):\n    pass"),
    (rules.bare_todos, "# TODO: batch these, once the store can tell how many wait\nx = 'TODO'"),
    (rules.atomic_groups, "x = r'(?:[^a]*+b)*\\+'"),
    (rules.atomic_groups, "x = r'(?:[()*+]|[(?>])*'"),
    (rules.message_forms, "BAD_REQUEST.row(f'{x} is wrong', f'Did you mean {y}?', group='x.')"),
    (rules.message_forms, "problem = 'It is ' + y\nremedy = f'Use {y}'"),
    (rules.message_forms, "problem = 'The company does not exist'"),
    (rules.message_forms, "parse('x is no y.')"),
]


def test_what_a_rule_forbids_is_found() -> None:
    found = [[*map(str, rule(module("edm/types.py", text)))] for rule, text, _ in BROKEN]
    assert [[each.split(": ")[0] for each in some] for some in found] == [
        [f"{BASE}/edm/types.py:{line}"] for *_, line in BROKEN
    ]


def test_what_a_rule_allows_passes() -> None:
    assert [*chain(*(rule(module("edm/types.py", text)) for rule, text in KEPT))] == []


def test_a_blind_except_is_placed_by_its_innermost_function() -> None:
    body = "        try:\n            pass\n        except:\n            pass"
    text = f"class Api:\n    def respond(self):\n{body}"
    (found,) = rules.blind_excepts(module("http/api.py", text))
    assert found.place == "comptoir.http.api:Api.respond"


@together(
    "line",
    [
        "--" + "-".join(["index", "url"]) + " x",
        "-".join(["extra", "index"]),
        "--" + "-".join(["find", "links"]),
        "see /" + "simple/ for more",
        "https://pypi" + ".org/project",
        "cd /" + "root/project",
        "open('/" + "tmp/x')",
        "PATH=/" + "home/someone/bin",
        "/" + "Users/someone",
    ],
)
def test_a_registry_or_a_machine_path_is_found(line: str) -> None:
    (found,) = rules.workplace_names("docs/start.md", f"fine\n{line}\n")
    assert str(found).startswith("docs/start.md:2: ")


@together(
    "line",
    [f"src/{'root'}/x", "https://example.com/home/page", "./data", f"~/{'work'}/comptoir", "/api/"],
)
def test_an_address_or_a_relative_path_passes(line: str) -> None:
    assert not list(rules.workplace_names("docs/start.md", line))


def test_a_test_folder_as_a_package_is_found() -> None:
    paths = ["tests/http/__init__.py", "tests/support/__init__.py", "src/comptoir/__init__.py"]
    (found,) = rules.test_packages(paths)
    assert found.path == "tests/http/__init__.py"


def test_a_navigation_property_that_is_followed_is_found() -> None:
    text = "class Views:\n    def related(self):\n        return self._model.by_name[each.target]\n"
    (found,) = rules.followed_relations(module("service/views.py", text))
    assert (found.line, found.place) == (3, "comptoir.service.views:Views.related")
    assert not list(rules.followed_relations(module("metadata/csdl.py", text)))
    other = text.replace("each.target", "each.name")
    assert not list(rules.followed_relations(module("service/views.py", other)))


@together("text", ["if settings.profile in given:\n    pass\n", 'wanted = "business-central"\n'])
def test_a_station_that_asks_for_a_profile_is_found(text: str) -> None:
    (found,) = rules.profile_names(module("service/writes.py", text))
    assert (found.line, found.place) == (1, "comptoir.service.writes")
    assert not list(rules.profile_names(module("config.py", text)))
    assert not list(rules.profile_names(module("service/writes.py", "settings.behaviour.writes")))
