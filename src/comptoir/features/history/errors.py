"""The refusals of requests for changes."""

from comptoir.errors.table import INVALID_URL, RECORD_NOT_FOUND

NO_SUCH_OPTION = INVALID_URL.row("{resource} has no option {name!q}",
    "Remove it. The options are {options}.")
UNLOGGED_SET = INVALID_URL.row("{name!q} is not an entity set whose changes are logged",
    "Name one that has records of its own.")
RECORD_ALONE = INVALID_URL.row("The option record needs entitySet", "Add entitySet with the set of the record.")
NOT_THERE = RECORD_NOT_FOUND.row("{set} has no record with the key {key!q}",
    "If it was deleted, add from with the number of its delete, which {resource}?entitySet={set} lists.", group="NO_RECORD")
NOT_OF_RECORD = RECORD_NOT_FOUND.row("The change {number} is not one of the record {key!q} of {set}",
    "Send the number of one of its changes, which {resource}?entitySet={set} lists.", group="NO_RECORD")
