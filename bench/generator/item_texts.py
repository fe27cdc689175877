"""The translations and the long texts of items."""

from base64 import b64encode
from collections.abc import Iterator
from html import escape

from generator.blueprint import Blueprint, Table
from generator.items import Item, items
from generator.products import LANGUAGES
from generator.values import NO_DATE, Row, past_day

_TRANSLATIONS_PER_ITEM = (2, 1, 3, 2)
_ITEMS_PER_TEXT = 4
_LANGUAGES_PER_TEXT = 3
_AUTHORS = ("ADMIN", "CATALOG", "EDITOR", "IMPORT")


def _translations(source: Blueprint) -> Iterator[Row]:
    """The translations of each item in turn, in consecutive languages."""
    for each in items(source):
        dice = source.dice("item translations", each.position)
        first = dice.below(len(LANGUAGES))
        for offset in range(_TRANSLATIONS_PER_ITEM[each.position % len(_TRANSLATIONS_PER_ITEM)]):
            at = (first + offset) % len(LANGUAGES)
            code = LANGUAGES[at].code
            key = source.guid("item translation", f"{each.position} {code}")
            yield key, each.number, code, each.description(at), "", ""


def _long_texts(source: Blueprint) -> Iterator[Row]:
    """The texts of every fourth item, in three languages, as plain text or HTML."""
    for each in items(source):
        turn, rest = divmod(each.position, _ITEMS_PER_TEXT)
        if rest:
            continue
        dice = source.dice("item texts", each.position)
        for offset in range(_LANGUAGES_PER_TEXT):
            at = (turn + offset) % len(LANGUAGES)
            language = LANGUAGES[at]
            html = dice.chance(40)
            text = _html(each, at) if html else _plain(each, at)
            yield (
                source.guid("item text", f"{each.position} {language.code}"),
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
    direction = "rtl" if language.right_to_left else "ltr"
    return f'<div lang="{language.tag}" dir="{direction}">{body}</div>'


def _facts(each: Item, at: int) -> Iterator[str]:
    language = LANGUAGES[at]
    if each.material:
        yield f"{language.material}{language.labels}{each.material[at]}"
    if each.colour:
        yield f"{language.colour}{language.labels}{each.colour[at]}"
    if each.size:
        yield f"{language.size}{language.labels}{each.size}"


TRANSLATIONS = Table(
    "itemTranslationsExt",
    ("id", "itemNo", "languageCode", "description", "description2", "variantCode"),
    _translations,
)
LONG_TEXTS = Table(
    "ItemProductTextLongContentsExt",
    (
        "systemId", "startingDate", "endDate", "languageCode", "insertedFrom", "lastModifiedFrom",
        "textContentType", "base64Text",
    ),
    _long_texts,
)  # fmt: skip
