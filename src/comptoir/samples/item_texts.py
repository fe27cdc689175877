"""The items' long texts: every fourth item, in three languages, plain or as HTML."""

from base64 import b64encode
from collections.abc import Iterator
from html import escape

from comptoir.samples.cells import NO_DATE, Row, past_day
from comptoir.samples.items import Item, items
from comptoir.samples.languages import LANGUAGES, Language
from comptoir.samples.world import World

COLUMNS = (
    "systemId",
    "startingDate",
    "endDate",
    "languageCode",
    "insertedFrom",
    "lastModifiedFrom",
    "textContentType",
    "base64Text",
)

_ITEMS_PER_TEXT = 4
_LANGUAGES_PER_ITEM = 3
_AUTHORS = ("ADMIN", "CATALOG", "EDITOR", "IMPORT")


def rows(world: World) -> Iterator[Row]:
    """The texts of each described item in turn."""
    for each in items(world):
        turn, rest = divmod(each.position, _ITEMS_PER_TEXT)
        if rest:
            continue
        dice = world.dice("item texts", each.position)
        for offset in range(_LANGUAGES_PER_ITEM):
            at = (turn + offset) % len(LANGUAGES)
            language = LANGUAGES[at]
            html = dice.chance(40)
            text = _html(each, at) if html else _plain(each, at)
            yield (
                world.guid("item text", f"{each.position} {language.code}"),
                past_day(dice, 730),
                NO_DATE,
                language.code,
                dice.pick(_AUTHORS),
                dice.pick(_AUTHORS),
                "HTML" if html else "Plain Text",
                b64encode(text.encode()).decode(),
            )


def _plain(each: Item, at: int) -> str:
    language = LANGUAGES[at]
    sentences = [each.name(at), *_facts(each, at)]
    return language.ends.join([*sentences, language.closing])


def _html(each: Item, at: int) -> str:
    language = LANGUAGES[at]
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in _facts(each, at))
    listed = f"<ul>{facts}</ul>" if facts else ""
    body = f"<h2>{escape(each.name(at))}</h2>{listed}<p>{escape(language.closing)}</p>"
    return f'<div lang="{language.tag}" dir="{_direction(language)}">{body}</div>'


def _facts(each: Item, at: int) -> Iterator[str]:
    language = LANGUAGES[at]
    if each.material:
        yield f"{language.material}{language.labels}{each.material[at]}"
    if each.colour:
        yield f"{language.colour}{language.labels}{each.colour[at]}"
    if each.size:
        yield f"{language.size}{language.labels}{each.size}"


def _direction(language: Language) -> str:
    return "rtl" if language.right_to_left else "ltr"
