"""Words of protocols, which are ASCII.

Python's `str` goes further: it strips blanks and folds letters of all of Unicode.
"""

BLANKS = " \t"
"""The blanks around the parts of a header (RFC 9110, 5.6.3, OWS) or an option (OData ABNF, BWS)."""


def lowered(word: str) -> str:
    """A word in lower case; one with other letters than ASCII's stays, as no protocol has it.

    The Kelvin sign, for one, is a `k` in lower case.
    """
    return word.lower() if word.isascii() else word
