"""Values of query options that are no expressions: whole numbers, and true or false."""

from comptoir.errors import INVALID_URL, Refusal

LARGEST = 2**53
"""What any larger number counts as: there are not so many records."""

_EXACT_DIGITS = 16


def whole_number(name: str, text: str, target: str) -> int:
    """The number that `text` says, up to `LARGEST`; blanks around it are left out.

    `name` is what the option is called in the message of the `Refusal` (400) for anything else.
    """
    digits = text.strip(" \t")
    if not (digits.isascii() and digits.isdigit()):
        raise Refusal(
            INVALID_URL,
            f"{name} must be a whole number from 0 on, but {text[:40]!r} was sent.",
            target=target,
        )
    # more digits than this mean "all", and need not be computed with
    digits = digits.lstrip("0")
    return min(int(digits or "0"), LARGEST) if len(digits) <= _EXACT_DIGITS else LARGEST


def truth(name: str, text: str, target: str) -> bool:
    """Whether `text` says true or false, in any case; anything else is a `Refusal` (400)."""
    word = text.strip(" \t").lower()
    if word not in ("true", "false"):
        raise Refusal(
            INVALID_URL, f"{name} must be true or false, but {text[:40]!r} was sent.", target=target
        )
    return word == "true"
