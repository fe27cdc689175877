"""The messages to operators who test their clients."""

from comptoir.errors.operator_rows import OperatorRow

NOT_STARTED = OperatorRow("the service did not start", "Its log says: {log}")
RESERVED_SETTING = OperatorRow("the setting {name} cannot be changed in comptoir_settings", "Remove it.")
