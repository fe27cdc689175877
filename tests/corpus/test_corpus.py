"""Every request of the corpus gets the answer that is beside it; one test for each file."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import httpx
import msgspec
import pytest

from support.batches import Part, parts, replies
from support.client import Client
from support.companies import Company
from support.corpus import (
    EARLY,
    FOLDER,
    FOLDERS,
    IN_ORDER,
    INDEXED,
    Answer,
    Area,
    Case,
    CorpusError,
    Kept,
    Refused,
    areas,
    filled,
    read_area,
)
from support.databases import ON_SQLITE, FreshDatabase
from support.refusals import error_in, refusal
from support.replay import ask, in_json, known_values, load_data
from support.service import Service
from support.specimen import WITH_SPECIMENS
from support.together import check_all

Json: TypeAlias = "str | Decimal | int | bool | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"
Companies: TypeAlias = Mapping[Path, tuple[Company, Client]]
Starting: TypeAlias = Callable[[Mapping[str, str]], Service]

_LABELS = (
    *(["entryNo"], ["code"], ["number"], ["referenceNo"], ["itemNo", "attributeName"]),
    *(["itemNo", "languageCode"], ["itemNo"], ["languageCode"], ["name"]),
)
"""The properties that name a record in the corpus: the first of these that it has."""

_PLACE = re.compile(r"at column \d+ of (\S+)\.")
_DECODER = msgspec.json.Decoder(float_hook=Decimal)


def each_area(*kinds: str) -> pytest.MarkDecorator:
    """The files of the corpus of these kinds, with their folders, as arguments of a test."""
    found = [(folder, area) for folder in FOLDERS for area in areas(folder) if area.kind in kinds]
    names = [f"{folder.name}/{area.name}" for folder, area in found]
    return pytest.mark.parametrize(("folder", "area"), found, ids=names)


@pytest.fixture(scope="session")
def companies(service: Service, specimen_service: Service) -> Iterator[Companies]:
    """For each folder, a company with its data, which no request changes, and the base URL."""
    created = {}
    for folder in FOLDERS:
        chosen = service if folder == FOLDER else specimen_service
        company = chosen.new_company("Corpus" if folder == FOLDER else None)
        load_data(company, folder)
        created[folder] = company, chosen.client
    yield created
    for company, _ in created.values():
        assert {change.by for change in company.changes()} == {"tests"}


@pytest.fixture(scope="session")
def start(
    specimen_service: Service,
    fresh_database: FreshDatabase,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Starting]:
    """Starts a service for the settings of a file, which files with the same settings share."""
    started: dict[tuple[tuple[str, str], ...], Service] = {(): specimen_service}
    with ExitStack() as opened:

        def service_of(settings: Mapping[str, str]) -> Service:
            key = tuple(sorted(settings.items()))
            if key not in started:
                given = {name: _setting(each) for name, each in key}
                folder = tmp_path_factory.mktemp("corpus")
                service = Service(fresh_database, folder, WITH_SPECIMENS, **given)
                started[key] = opened.enter_context(service)
            return started[key]

        yield service_of


def _setting(text: str) -> float | str:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


@each_area("", INDEXED, IN_ORDER)
def test_the_answers_are_those_beside_the_requests(
    folder: Path, area: Area, companies: Companies, start: Starting
) -> None:
    _check(area, *_company_for(folder, area, companies, start))
    if area.kind == INDEXED:
        company, root = _company_for(folder, area, companies, start)
        for resource in sorted(path.stem for path in folder.glob("data/*.ndjson")):
            company.catch_up(resource)
        _check(area, company, root)


@ON_SQLITE
@each_area(EARLY)
def test_the_answers_without_the_database_are_those_beside_the_requests(
    folder: Path, area: Area, companies: Companies, start: Starting
) -> None:
    _check(area, *_company_for(folder, area, companies, start))


def _company_for(
    folder: Path, area: Area, companies: Companies, start: Starting
) -> tuple[Company, Client]:
    """The company of a folder; a new one for requests that change it, or need other settings."""
    if not area.settings and area.kind in ("", EARLY):
        return companies[folder]
    settings = dict(area.settings)
    name = settings.pop("company", None)
    service = start(settings)
    company = service.new_company(name)
    load_data(company, folder)
    return company, service.client


def _check(area: Area, company: Company, root: Client) -> None:
    assert all(rule.cases for rule in area.rules)
    values = known_values(company, root)
    if any("{other}" in each.request for rule in area.rules for each in rule.cases):
        values["other"] = company.admin.add_company(root).id
    check_all(
        [(rule, case) for rule in area.rules for case in rule.cases],
        lambda each: _ask(each[1], company, root, values, is_plain="profile" not in area.settings),
        lambda each: f"{each[1].place}: {each[1].request} ({each[0].name})",
    )


def _ask(
    case: Case, company: Company, root: Client, values: dict[str, str], *, is_plain: bool
) -> None:
    wanted = case.answer
    before = len(company.changes()) if wanted.verbs is not None else 0
    answer = ask(case, company, root, values)
    status = wanted.status if wanted.refused is None else wanted.refused.status
    assert answer.status_code == status, answer.text[:1_000]
    for each in wanted.kept:
        values[each.name] = _value_of(answer, each)
    for name, value in wanted.headers.items():
        found = answer.headers.get(name)
        assert found is not None, answer.headers
        assert _fits(found, filled(value, values)), found
    assert not [name for name in wanted.absent if name in answer.headers], answer.headers
    if wanted.refused is not None:
        _assert_refused(answer, wanted.refused, values, is_plain=is_plain)
    else:
        _assert_accepted(answer, wanted, values)
    if wanted.verbs is not None:
        assert [each.verb for each in company.changes()[before:]] == list(wanted.verbs)


def _value_of(answer: httpx.Response, kept: Kept) -> str:
    """The value at a place: a header, or the names and numbers that lead to it in the body."""
    if kept.place.startswith("header "):
        found = answer.headers[kept.place.removeprefix("header ")]
    else:
        found = _DECODER.decode(answer.content)
        for name in kept.place.split("/"):
            found = found[int(name)] if isinstance(found, list) else found[name]
    assert kept.after in str(found)
    return str(found).partition(kept.after)[2] if kept.after else str(found)


def _assert_refused(
    answer: httpx.Response, refused: Refused, values: Mapping[str, str], *, is_plain: bool
) -> None:
    error = refusal(answer, refused.code) if is_plain else error_in(answer.content)
    assert error.code == refused.code
    assert "odata-version" in answer.headers
    assert answer.headers["content-length"] == str(len(answer.content))
    if refused.target is not None:
        assert error.target == refused.target
    if (named := _PLACE.search(error.message)) is not None and is_plain:
        assert error.target == named[1]
    _assert_in_order(error.message, [filled(each, values) for each in refused.fragments])


def _assert_in_order(text: str, fragments: Sequence[str]) -> None:
    rest = text
    for fragment in fragments:
        assert fragment in rest, text
        rest = rest[rest.index(fragment) + len(fragment) :]


def _assert_accepted(answer: httpx.Response, wanted: Answer, values: Mapping[str, str]) -> None:
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    shown = in_json(values) if is_json else values
    for fragment in wanted.fragments:
        _assert_in_order(answer.text, filled(fragment, shown).split("…"))
    if wanted.text is not None:
        assert answer.text == filled(wanted.text, shown)
    if wanted.parts is not None:
        assert _statuses(answer) == wanted.parts
    if wanted.keys is None and wanted.single is None and not wanted.records:
        return
    document: JsonObject = _DECODER.decode(answer.content)
    listed = document.get("value")
    records = listed if isinstance(listed, list) else None
    if records is not None:
        assert ("@odata.nextLink" in document) == wanted.has_more, document
        assert ("@odata.deltaLink" in document) == wanted.has_delta, document
        assert document.get("@odata.count") == wanted.count
    if wanted.keys is not None:
        assert records is not None, document
        assert [_label(each) for each in records] == list(wanted.keys)
    if wanted.single is not None:
        assert records is None, document
        assert _label(document) == wanted.single
    if wanted.records:
        found = [document] if records is None else records
        expected: list[Json] = [_DECODER.decode(filled(each, shown)) for each in wanted.records]
        difference = _difference(found, expected, exact=wanted.exact)
        assert difference is None, f"{difference}\n{answer.text[:2_000]}"


def _statuses(answer: httpx.Response) -> str:
    """The statuses of a batch; those of a change set are in parentheses."""
    if answer.headers["content-type"].startswith("multipart/"):
        return " ".join(map(_status, parts(answer)))
    return " ".join(str(each.status) for each in replies(answer))


def _status(part: Part) -> str:
    return str(part.status) if part.status else f"({' '.join(map(_status, part.parts))})"


def _label(record: Json) -> str:
    assert isinstance(record, Mapping)
    names = next(each for each in _LABELS if set(each) <= set(record))
    return "/".join(str(record[name]) for name in names) or "''"


def _fits(text: str, pattern: str) -> bool:
    """If a text is a pattern, in which `…` is any text."""
    parts_of = map(re.escape, pattern.split("…"))
    return re.fullmatch(".*".join(parts_of), text, re.DOTALL) is not None


def _difference(found: Json, wanted: Json, *, exact: bool, at: str = "") -> str | None:
    """Where what was found is not what was wanted; None where it is.

    Objects may have more members than those wanted; if `exact`, control information alone.
    """
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        names = {name for name in found if "@" not in name}
        if exact and names != {name for name in wanted if "@" not in name}:
            return f"{at}: {sorted(names)} and no other members"
        pairs = [(found.get(name, f"no {name}"), each, name) for name, each in wanted.items()]
        return _first_difference(pairs, exact=exact, at=at)
    if isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            return f"{at}: {len(found)} members, not {len(wanted)}"
        numbered = [
            (each, other, str(number))
            for number, (each, other) in enumerate(zip(found, wanted, strict=True))
        ]
        return _first_difference(numbered, exact=exact, at=at)
    if isinstance(wanted, str) and isinstance(found, str):
        alike = _fits(found, wanted)
    else:
        alike = isinstance(wanted, bool) == isinstance(found, bool) and wanted == found
    return None if alike else f"{at}: {found!r} is not {wanted!r}"


def _first_difference(
    pairs: Sequence[tuple[Json, Json, str]], *, exact: bool, at: str
) -> str | None:
    differences = (
        _difference(found, wanted, exact=exact, at=f"{at}/{name}") for found, wanted, name in pairs
    )
    return next((each for each in differences if each is not None), None)


def test_the_corpus_is_large_and_no_request_stands_in_it_twice() -> None:
    """Except where requests change what later ones find, or are sent for a value of a response."""
    written = Counter(
        (folder, str(area.settings), case.written, str(sorted(case.headers.items())), case.body)
        for folder in FOLDERS
        for area in areas(folder)
        for rule in area.rules
        for case in rule.cases
        if area.kind != IN_ORDER and "{" not in case.written and not case.answer.kept
    )
    assert {each for each, times in written.items() if times > 1} == set()
    assert written.total() >= 600


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Title\nitemsExt\n", "faulty:2: a request must come after a rule"),
        ("# Title\n## rule | 1\n  = A\n", "faulty:3: an answer must come after a request"),
        ("# Title\n## rule\n", "faulty:2: a rule has a name"),
        ("# Title\n## rule | 1\nitemsExt\n", "faulty:3: the request has no answer"),
        ("# Title\n## rule | 1\nitemsExt\n  LAMP\n", "faulty:4: no answer begins with 'LAMP'"),
        ("# Title\n## rule | 1\nitemsExt\n  ! no\n", "faulty:4: a refusal begins with its status"),
    ],
)
def test_a_line_that_cannot_be_read_is_reported_with_its_place(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "faulty.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=said):
        read_area(path)
