"""The canonical functions of OData (URL Conventions 4.01, section 5.1.1.5) and their types."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from comptoir.edm.number import INT32
from comptoir.edm.primitive import PrimitiveType
from comptoir.edm.scalar import BOOLEAN
from comptoir.edm.text import TEXT


class Signature(msgspec.Struct, frozen=True):
    """The types that a function takes and gives."""

    parameters: tuple[PrimitiveType, ...]
    result: PrimitiveType


SUPPORTED: Mapping[str, Signature] = MappingProxyType(
    {
        "contains": Signature((TEXT, TEXT), BOOLEAN),
        "startswith": Signature((TEXT, TEXT), BOOLEAN),
        "endswith": Signature((TEXT, TEXT), BOOLEAN),
        "tolower": Signature((TEXT,), TEXT),
        "toupper": Signature((TEXT,), TEXT),
        "length": Signature((TEXT,), INT32),
    }
)

_BEYOND = """
    concat indexof substring hassubset hassubsequence matchespattern trim day date
    fractionalseconds hour maxdatetime mindatetime minute month now second time
    totaloffsetminutes totalseconds year ceiling floor round cast isof geo.distance
    geo.intersects geo.length case
"""

CANONICAL = frozenset(SUPPORTED) | frozenset(_BEYOND.split())
"""Every function that OData names; those beyond `SUPPORTED` are refused with 501."""
