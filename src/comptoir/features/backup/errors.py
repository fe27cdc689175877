"""The messages of backups and restores to operators."""

from comptoir.errors.operator_rows import OperatorRow

# fmt: off
FILE_EXISTS = OperatorRow("{path} already exists", "Name another file, or a folder and --keep.")
TWO_BACKUPS = OperatorRow("another backup or restore writes to the folder {folder}",
    "Wait until it ends, or name another folder.")
CANNOT_WRITE = OperatorRow("{path} cannot be written: {reason}",
    "Create the folder, free some space there, or name another place. Nothing else has changed.")
NO_PROGRAM = OperatorRow("{program} is missing",
    "Install PostgreSQL's client programs, of the server's major version or a later one.")
PROGRAM_FAILED = OperatorRow("{program} failed: {reason}",
    "Correct the cause; nothing has changed. Programs of another major version than the server's "
    "often fail.")
NOT_A_BACKUP = OperatorRow("{path} is not a whole backup: {reason}",
    "Name a file of `comptoir backup`.")
NEWER_BACKUP = OperatorRow("{path} was written by comptoir {release}, and this is comptoir {own}",
    "Restore it with that release or a later one.")
OTHER_ENGINE = OperatorRow("{path} has a database of {engine}, unlike {url}",
    "Name a database of that kind, and move the companies later with `comptoir copy`.")
NOT_EMPTY = OperatorRow("{url} has a database",
    "Name another place, or use --replace, which moves the present one aside.")
IN_USE = OperatorRow("{url} is in use ({reason})", "Stop the services and commands that use it.")
BLANK_PASSPHRASE = OperatorRow("{path} has no passphrase in its first line",
    "Write one of 1 to 1,023 bytes there.")
OTHER_KEY = OperatorRow("{path} differs from the key of that name in the backup, and stays",
    "To accept the tokens of that key too, take it out of the ZIP file and add it under another "
    "name.")
WRONG_PASSPHRASE = OperatorRow("the passphrase in {path} does not open the keys of the backup",
    "Name the file with that of the backup, or restore without the private keys.")
NO_PRIVATE_KEYS = OperatorRow("the backup has no private keys", "Leave out --passphrase-file.")
NOT_CONFIRMED = OperatorRow("the answer is not `replace`",
    "Nothing has changed; run the command again.")
