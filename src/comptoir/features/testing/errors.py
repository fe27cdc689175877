"""The messages to operators who test their clients."""

from comptoir.errors.operator_rows import OperatorRow

# fmt: off
NOT_STARTED = OperatorRow("the service did not start", "Its log says: {log}")
RESERVED_SETTING = OperatorRow("the setting {name} cannot be changed in comptoir_settings",
    "Remove it.")
INVALID_URL = OperatorRow("invalid --url {url}",
    "Use the address of the service, such as http://127.0.0.1:8080.")
NO_RESPONSE = OperatorRow("{origin} does not respond: {reason}",
    "Start it with `comptoir serve --faults`, or name another one with --url.")
ANOTHER_RELEASE = OperatorRow("{origin} is a service of another release: {reason}",
    "Use the same release here and there.")
WITHOUT_FAULTS = OperatorRow("{url} returns {status}", "Start the service with --faults.")
REQUEST_FAILED = OperatorRow("{url} returns {status}", "See its log.")
