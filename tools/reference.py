"""Write the reference pages, or with --check report outdated ones.

Usage: python tools/reference.py [--check] FOLDER
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import click
from profile_differences import differences, rows
from reference_pages import (
    Command,
    Parameter,
    ProfileCase,
    api_v2_page,
    catalogs_page,
    code,
    commands_page,
    entity_types_page,
    errors_page,
    faults_page,
    page,
    profiles_page,
    settings_page,
    table,
    undocumented,
    undocumented_commands,
)

import comptoir
from comptoir.catalog import API_V2, MODEL, read_catalog
from comptoir.catalog.building import TYPES
from comptoir.catalog.options import TABLES
from comptoir.cli.main import SUBCOMMANDS, command_line, imported
from comptoir.config import SETTINGS
from comptoir.errors import oauth_rows, operator_rows, refusal_rows
from comptoir.errors.oauth_rows import OAuthRow
from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.refusal import RefusalRow
from comptoir.errors.table import ERROR_TABLE, OAUTH_ERROR_TABLE
from comptoir.features.business_central import CURRENT
from comptoir.features.business_central.profile import business_central
from comptoir.features.rehearsal.faults import FAULTS
from comptoir.features.rehearsal.rules import PRESETS
from comptoir.profiles.record import STANDARD

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.corpus import Area, areas
from support.profiles import Answered, cases, elsewhere

OF_FEATURES = {
    path.parent.name: import_module(f"comptoir.features.{path.parent.name}.errors")
    for path in sorted(Path(comptoir.__file__).parent.glob("features/*/errors.py"))
}
"""The messages of each feature."""

OF_PAGES = ("console", "inspector")
"""The features whose refusals are pages for people."""

T = TypeVar("T")


def rows_in(modules: Iterable[ModuleType], kind: type[T]) -> list[T]:
    """The rows of a type in modules, in their order."""
    return [each for module in modules for each in vars(module).values() if isinstance(each, kind)]


def commands() -> Iterator[Command]:
    """All commands, including those of groups; the first is `comptoir` itself."""
    yield _documented(command_line, "comptoir")
    for name in SUBCOMMANDS:
        yield from _walk(imported(name), f"comptoir {name}")


def _walk(command: click.Command, name: str) -> Iterator[Command]:
    if not isinstance(command, click.Group):
        yield _documented(command, name)
        return
    for inner, each in command.commands.items():
        yield from _walk(each, f"{name} {inner}")


def _documented(command: click.Command, name: str) -> Command:
    context = click.Context(command)
    parameters = tuple(_parameter(each, context) for each in command.params)
    return Command(name, " ".join((command.help or "").split()), parameters)


def _parameter(parameter: click.Parameter, context: click.Context) -> Parameter:
    is_argument = isinstance(parameter, click.Argument)
    name, default = parameter.human_readable_name, ""
    if isinstance(parameter, click.Option):
        name = ", ".join(parameter.opts)
        if not parameter.is_flag:
            name += f" {parameter.make_metavar(context)}"
        if parameter.multiple:
            name += " …"
        given = parameter.show_default
        default = (
            given if isinstance(given, str) else str(parameter.to_info_dict()["default"] or "")
        )
    return Parameter(
        name,
        parameter.help or "",
        str(parameter.envvar or ""),
        default,
        parameter.required,
        is_argument,
    )


def options_of_settings() -> Mapping[str, str]:
    """The options that set settings, by setting."""
    found: dict[str, str] = {}
    for command in commands():
        for each in command.parameters:
            option = each.name.split()[0].strip(",")
            setting = option.removeprefix("--").replace("-", "_")
            if setting in SETTINGS:
                found[setting] = option
    return found


_ODATA_INTRO = (
    "The supported part of OData 4.01, by the rules of its ABNF and of its extension for data "
    "aggregation. For each rule, the corpus has requests that the service must accept, with the "
    "records of the response, and requests that it must refuse, with the place that the message "
    "must name. The requests are in `tests/corpus`, in plain text that can be read as examples; "
    "the tests send all of them. Sections refer to the OASIS standards: URL Conventions and "
    "Protocol are the parts of OData 4.01, JSON and CSDL its formats, Aggregation the extension."
)
_UNSUPPORTED_INTRO = (
    "Valid OData that is not supported returns 501 with the name of the feature; nothing is "
    "ignored silently. These requests of the corpus show the unsupported features."
)


def odata_page(corpus: Sequence[Area]) -> str:
    """The rules that the corpus covers, their requests, and the unsupported features."""
    rules = [each for area in corpus for each in area.rules]
    accepted, refused = sum(each.accepted for each in rules), sum(each.refused for each in rules)
    parts = [_ODATA_INTRO, f"{accepted} requests are accepted, {refused} refused."]
    head = ("Rule", "Section", "Accepted", "Refused")
    for area in corpus:
        rows = [
            (code(each.name), each.section, str(each.accepted), str(each.refused))
            for each in area.rules
        ]
        file = f"In `tests/corpus/{area.name}.txt`:"
        parts += [f"## {area.title}", file, table(head, rows)]
    unsupported = [
        (code(each.name), code(case.request))
        for each in rules
        for case in each.cases
        if case.answer.refused is not None and case.answer.refused.status == 501
    ]
    parts += ["## Not supported", _UNSUPPORTED_INTRO, table(("Rule", "Request"), unsupported)]
    return page("OData", "`tests/corpus`", *parts)


def profile_cases() -> Iterator[ProfileCase]:
    """The cases of the profiles, as their page shows them."""
    for each in cases():
        yield ProfileCase(each.id, each.rows, _shown(each.standard), _shown(each.expect))


def _shown(response: Answered) -> str:
    return f"{response.status} {code(response.code)}" if response.code else str(response.status)


def error_page() -> str:
    """The errors of clients and of operators."""
    of_api = [module for name, module in OF_FEATURES.items() if name not in OF_PAGES]
    return errors_page(
        ERROR_TABLE,
        rows_in([refusal_rows, *of_api], RefusalRow),
        OAUTH_ERROR_TABLE,
        rows_in([oauth_rows], OAuthRow),
        rows_in([operator_rows, *OF_FEATURES.values()], OperatorRow),
        rows_in([OF_FEATURES[name] for name in OF_PAGES], RefusalRow),
    )


def pages() -> Mapping[str, str]:
    """Every reference page by the name of its file."""
    return {
        "entity-types.md": entity_types_page(MODEL),
        "api-v2.md": api_v2_page(read_catalog(Path(API_V2)), MODEL),
        "catalogs.md": catalogs_page(TABLES, TYPES),
        "settings.md": settings_page(options_of_settings()),
        "errors.md": error_page(),
        "commands.md": commands_page(commands()),
        "odata.md": odata_page(areas()),
        "faults.md": faults_page(FAULTS, PRESETS),
        "profiles.md": profiles_page(
            rows(),
            differences(STANDARD, business_central(CURRENT)),
            tuple(profile_cases()),
            [(each.rows, each.test) for each in elsewhere()],
            MODEL.tables,
        ),
    }


def faults(folder: Path) -> Iterator[str]:
    """Missing descriptions, and outdated pages."""
    yield from undocumented(MODEL, ERROR_TABLE)
    yield from undocumented_commands(commands())
    for name, text in pages().items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield f"{path} is outdated: run `make docs`"


def main() -> None:
    """Write the pages, or check them; a fault ends it with a nonzero exit status."""
    parser = argparse.ArgumentParser(description="The reference pages of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, report outdated pages")
    parser.add_argument("folder", type=Path, help="the folder of the pages")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    if not arguments.check:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages().items():
            (folder / name).write_text(text, encoding="utf-8")
    found = list(faults(folder))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
