"""The messages of loads, dumps, copies and deletions to operators."""

from comptoir.operator_rows import OperatorRow

# fmt: off
NO_FILE = OperatorRow("{path} does not exist", "Correct the path.")
NOT_A_FILE = OperatorRow("{path} is not a file", "Name a file, which can be read twice.")
UNKNOWN_FORMAT = OperatorRow("{path} cannot be loaded", "Name a file that ends in {suffixes}.")
UNREADABLE_FOLDER = OperatorRow("the folder {folder} cannot be read: {reason}",
    "Check its permissions.")
EMPTY_FOLDER = OperatorRow("the folder {folder} contains no file that can be loaded",
    "Name a folder with files that end in {suffixes}.")
NOT_AN_ENTITY_SET = OperatorRow("{path} is not named after an entity set: {name} does not exist",
    "Name it after one of: {known}.")
NO_OWN_RECORDS = OperatorRow("{path} cannot be loaded, since {entity_set} has no records of its "
    "own",
    "Load one of: {known}.")
TWO_FILES = OperatorRow("{first} and {second} are both for {entity_set}",
    "Load them one after the other.")
NO_TEMPORARY_FOLDER = OperatorRow("the data of the check cannot be written to the temporary "
    "folder: {reason}",
    "Free some space there, or name another folder with TMPDIR.")
FILE_EXISTS = OperatorRow("{path} already exists", "Move it, or name another folder.")
CANNOT_WRITE = OperatorRow("{path} cannot be written: {reason}",
    "Free some space there, or name another folder.")
NO_NEW_FOLDER = OperatorRow("the folder {folder} cannot be created: {reason}", "Name another one.")
SAME_DATABASE = OperatorRow("the source and the target are the same database",
    "Name another one with --to.")
GONE = OperatorRow("the source no longer has a company {company}",
    "Copy only companies that exist.")
SOURCE_CHANGES = OperatorRow("the company {company} in the source changes faster than its copy, "
    "which has reached change {number}",
    "Stop the writers there, then run the same command again.")
SOURCE_CHANGED = OperatorRow("the company {company} in the source has changed since its copy was "
    "compared at change {number}",
    "Stop the writers there, then run the same command again.")
UNFINISHED_COPY = OperatorRow("the target has an unfinished copy of a company {company} from "
    "another source, or one that is being dropped",
    "Drop it with --restart, or name another target with --to.")
ANOTHER_COMPANY = OperatorRow("the target already has a company {company}, which is not an "
    "earlier state of the one in the source",
    "Name another target with --to.")
COMPANY_DIFFERS = OperatorRow("the company {company} differs between the target and the source: "
    "{where}",
    "Name another target with --to.")
COPY_DIFFERS = OperatorRow("the company {company} differs between the target and the source: "
    "{where}",
    "It is not visible in the target. Drop it and start again with --restart.")
