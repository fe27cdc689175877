"""The messages of the console to operators."""

from comptoir.operator_rows import OperatorRow

# fmt: off
NO_SCOPE_CHOSEN = OperatorRow("a client needs a scope", "Choose at least one.")
NOTHING_CHOSEN = OperatorRow("no {what} is chosen",
    "Choose at least one, or remove the restriction.")
INVALID_NUMBER = OperatorRow("this is not a valid number", "Enter one from {low} to {high}.")
MISSING = OperatorRow("this is missing", "Enter it.")
ROLE_EXISTS = OperatorRow("a role already has this name", "Choose another one.")
CHANGED_MEANWHILE = OperatorRow("somebody else has changed this client meanwhile",
    "Compare your entries with what it is now, and save again.")
