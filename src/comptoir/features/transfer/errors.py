"""The messages of loads, dumps and copies to operators."""

from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.table import BAD_REQUEST

NO_FILE = OperatorRow("{path} does not exist", "Correct the path.")
NOT_A_FILE = OperatorRow("{path} is not a file", "Name a file, which can be read twice.")
UNKNOWN_FORMAT = OperatorRow("{path} cannot be loaded", "Name a file that ends in {suffixes}.")
UNREADABLE_FOLDER = OperatorRow("the folder {folder} cannot be read: {reason}", "Check its permissions.")
EMPTY_FOLDER = OperatorRow("the folder {folder} contains no file that can be loaded", "Name a folder with files that end in {suffixes}.")
NOT_AN_ENTITY_SET = OperatorRow("{path} is not named after an entity set: {name} does not exist", "Name it after one of: {known}.")
NO_OWN_RECORDS = OperatorRow("{path} cannot be loaded, since {entity_set} has no records of its own", "Load one of: {known}.")
TWO_FILES = OperatorRow("{first} and {second} are both for {entity_set}", "Load them one after the other.")
NO_TEMPORARY_FOLDER = OperatorRow("the data of the check cannot be written to the temporary folder: {reason}",
    "Free some space there, or name another folder with TMPDIR.")
FILE_EXISTS = OperatorRow("{path} already exists", "Move it, or name another folder.")
CANNOT_WRITE = OperatorRow("{path} cannot be written: {reason}", "Free some space there, or name another folder.")
NO_NEW_FOLDER = OperatorRow("the folder {folder} cannot be created: {reason}", "Name another one.")
SAME_DATABASE = OperatorRow("the source and the target are the same database", "Name another one with --to.")
GONE = OperatorRow("the source no longer has a company {company}", "Copy only companies that exist.")
SOURCE_CHANGES = OperatorRow("the company {company} in the source changes faster than its copy, which has reached change {number}",
    "Stop the writers there, then run the same command again.")
SOURCE_CHANGED = OperatorRow("the company {company} in the source has changed since its copy was compared at change {number}",
    "Stop the writers there, then run the same command again.")
UNFINISHED_COPY = OperatorRow("the target has an unfinished copy of a company {company} from another source, or one that is being dropped",
    "Drop it with --restart, or name another target with --to.")
ANOTHER_COMPANY = OperatorRow("the target already has a company {company}, which is not an earlier state of the one in the source",
    "Name another target with --to.")
SOURCE_TRIMMED = OperatorRow("the change log of the company {company} in the source begins with change {oldest}, but its copy has come to "
    "change {number}", "Start again with --restart, or delete a finished copy first.")
COMPANY_DIFFERS = OperatorRow("the company {company} differs between the target and the source: {where}", "Name another target with --to.")
COPY_DIFFERS = OperatorRow("the company {company} differs between the target and the source: {where}",
    "It is not visible in the target. Drop it and start again with --restart.")

# What is wrong with a file or one of its lines
UNREADABLE = OperatorRow("the file cannot be read: {reason}", "Check its path and its permissions.")
FILE_CHANGED = OperatorRow("the file was changed while it was being loaded", "Load it again.")
LINE_NOT_UTF8 = OperatorRow("the file is not UTF-8 ({found})", "Save it as UTF-8.")
NOT_UTF8 = OperatorRow("the file is not UTF-8", "Save it as UTF-8.")
NOT_CSV = OperatorRow("the line is not CSV: {reason}", "Correct it.")
NO_COLUMNS = OperatorRow("the file is empty", "Name the columns in its first line.")
BLANK_COLUMNS = OperatorRow("the first line is blank", "Name the columns in it.")
OTHER_SEPARATOR = OperatorRow("the columns are separated by {separator}", "Separate them by commas.")
OTHER_WIDTH = OperatorRow("the line has {count} cells, but the first line names {columns} columns", "Give one cell for each column.")
NO_PARQUET = OperatorRow("reading Parquet needs an optional package", "Run pip install 'comptoir[parquet]'.")
NOT_PARQUET = OperatorRow("the file is not Parquet: {reason}", "Write it again.")
LONG_LINE = OperatorRow("the line is longer than {most} bytes", "Write one record in each line.")
NOT_AN_OBJECT = OperatorRow("the line is not a JSON object: {reason}", "Correct it.")
OTHER_TYPE = OperatorRow("the record must be a JSON object, not {type}", "Correct it.")
NOT_JSON = OperatorRow("the record is not JSON: {reason}", "Correct it.")
NO_RECORDS = OperatorRow("the file is empty", "Write at least one record.")
NO_ARRAY = OperatorRow("the file is empty", "Write an array of records.")
TEXT_AFTER_ARRAY = OperatorRow("text follows the end of the array", "Remove it.")
UNEXPECTED = OperatorRow("{wanted} is expected, but {found} was found", "Correct the file.")
UNKNOWN_COLUMN = OperatorRow("is not a property of {entity_set}", "Remove the column, or rename it to one of: {known}.")
COLUMN_TWICE = OperatorRow("occurs twice", "Remove one of the columns.")
NO_KEY_COLUMN = OperatorRow("no column identifies the records", "Add one of: {names}.")
LACKING_COLUMN = OperatorRow("is not in the file, but a new record needs it", "Add the column.")
GIVEN_HERE = OperatorRow("is given, unlike in line {first}", "Give it in every line, or in none.")
NOT_GIVEN_HERE = OperatorRow("is not given, unlike in line {first}", "Give it in every line, or in none.")
VALUE_TAKEN = OperatorRow("has the value of the record {key}", "Choose another value.")
REPEATED = OperatorRow("repeats line {first}", "Remove one of the lines.")

# Values
EMPTY_VALUE = BAD_REQUEST.row("{name} must not be empty", "Send a value for it.")
LONG_CELL = BAD_REQUEST.row("{name} exceeds the limit of {limit} characters", "Shorten it, or raise the setting body_bytes.")
MISFITS = OperatorRow("the catalog of the target does not fit: {misfits}",
    "Nothing is converted. Give the target a catalog with the same types, keys and alternate keys.")
