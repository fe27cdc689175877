"""The refusals of the screen of requests, and the messages to operators, a row for each."""

from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.table import BAD_REQUEST, KEY_EXISTS, RESOURCE_NOT_FOUND

# fmt: off
INSPECT_WITHOUT_CONSOLE = OperatorRow("inspect is {inspect}, but the console, which shows "
    "requests, is not served",
    "Set console to on, or inspect to off.")
UNKNOWN_CHOICE = BAD_REQUEST.row("The form has a value that does not exist",
    "Choose one of the list.")
NOT_REPLAYABLE = KEY_EXISTS.row("{reason}", "Send it from its client instead.")
NOT_KEPT = RESOURCE_NOT_FOUND.row("No request with this id is kept", "Each worker keeps its last "
    "{count} requests while it records. Choose one from the list of requests.")
