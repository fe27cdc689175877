"""What an operator enters: an option of a command, and a field of a form in the console."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Field(Generic[T_co]):
    """A value, or several: an option is repeated then, and `separator` divides those of a form.

    `parse` converts the text, or the texts of several values; it raises `OperatorError`.
    """

    name: str
    help: str
    parse: Callable[..., T_co]
    default: str = ""
    metavar: str | None = None
    separator: str = ""
    is_required: bool = False

    @property
    def hint(self) -> str:
        """The help in a form, which shows it as it is."""
        several = {
            "\n": f" Write {self.metavar} on each line.",
            " ": " Separate several by spaces.",
        }
        return self.help.replace("`", "") + several.get(self.separator, "")

    @property
    def key(self) -> str:
        """The name of the option as an argument of the command."""
        return self.name.replace("-", "_")

    def of(self, given: Mapping[str, object]) -> T_co:
        """The parsed value among the options of a command; raises `OperatorError`."""
        return self.parse(given[self.key] or "")
