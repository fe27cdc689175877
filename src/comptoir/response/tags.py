"""Entity tags in the form of Business Central: two numbers in text, in Base64.

The numbers are the incarnation of the company and the number of the change, so a tag in this form
and one in the form of `edm.record_json.opaque_tag` name the same version of a record.
"""

import base64
import binascii
import re

from comptoir.request.headers import EntityTags, Headers, entity_tags

_TEXT = re.compile(r"'19;([0-9]{10})([0-9]{9,18})1;00;'")


def encoded(opaque: str) -> str:
    """An opaque tag in Base64."""
    incarnation, _, number = opaque.partition(".")
    text = f"'19;{int(incarnation, 16):010}{int(number):09}1;00;'"
    return base64.b64encode(text.encode()).decode()


def decoded_tags(headers: Headers, name: bytes) -> EntityTags | None:
    """As `entity_tags`, of tags that were `encoded`."""
    tags = entity_tags(headers, name)
    return None if tags is None else decoded(tags)


def decoded(tags: EntityTags) -> EntityTags:
    """The tags that were `encoded`; others are of no record, and stay as they are."""
    return EntityTags(any=tags.any, opaque=frozenset(map(_decoded, tags.opaque)))


def _decoded(tag: str) -> str:
    try:
        text = base64.b64decode(tag, validate=True).decode()
    except (binascii.Error, ValueError):
        return tag
    match = _TEXT.fullmatch(text)
    return tag if match is None else f"{int(match[1]):08x}.{int(match[2])}"
