"""The messages to operators: what is wrong, and what to do, a row for each condition.

A feature that is a folder of its own has its rows there. `docs/reference/errors.md` lists all.
"""

from typing import NamedTuple

from comptoir.errors.refusal import OperatorError


class OperatorRow(NamedTuple):
    """A problem and its remedy, as templates (`str.format`) of the facts in braces."""

    problem: str
    remedy: str

    def __call__(
        self, *, suggested: str = "", kind: type[OperatorError] = OperatorError, **facts: object
    ) -> OperatorError:
        """The error with its facts; `suggested`, if any, takes the place of the remedy."""
        remedy = suggested or self.remedy.format(**facts)
        return kind(self.problem.format(**facts), remedy)



# Settings and files; the remedies are of those that read a file whole
INVALID_VALUE = OperatorRow("invalid {source} {value}", "{remedy}")
INVALID_TYPE = OperatorRow("the config file {path} has an invalid value of {name}", "Use text or a number.")
UNKNOWN_SETTING = OperatorRow("the config file {path} has an unknown setting {name}", "docs/reference/settings.md lists the settings.")
RENAMED_VARIABLE = OperatorRow("unknown setting {former}", "Use {name}.")
INVALID_CONFIG = OperatorRow("{path} is not TOML: {reason}", "Correct it.")
UNREADABLE = OperatorRow("{path} cannot be read: {reason}", "{remedy}")
NOT_REGULAR = OperatorRow("{path} is not a regular file", "{remedy}")
LARGE_FILE = OperatorRow("{path} has more than {kib} KiB", "{remedy}")
AT_PLACE = OperatorRow("{place}: {error.problem}", "{error.remedy}")
ANOTHER_CONFIG = "Name another config file."
FILE_OF_KEY = "Name a file with a public key or a certificate."
FILE_OF_ROLES = "Name a file with roles in TOML, in UTF-8."

# Catalogs
FILE_OF_CATALOG = "Name a file with a catalog in TOML, in UTF-8."
FILE_OF_METADATA = "Name a file with the `$metadata` of OData 4.0 or 4.01, in XML or JSON."
IN_BASE = OperatorRow("{name} is declared in the base", "Remove it, or choose another name.")
CATALOG_NOT_GROWN = OperatorRow("the catalog of {name} cannot become that of the settings: {changes}",
    "Only additions are applied. Add to the former catalog.")
NOT_UNIQUE = OperatorRow("{set} cannot get the alternate key {names}, because {count} of its values have several records: {listed}",
    "Change or delete these records first.")
OTHER_CATALOG = OperatorRow("{name} has another catalog than that of the settings, in which {changes}",
    "Run `comptoir catalog apply` with the same catalog, or serve without one.")
EARLIER_CATALOG = OperatorRow("the catalog {file} is older than that of {name}, which has more",
    "Add to the later one; `comptoir catalog export` prints it.")
CATALOG_FAULTS = OperatorRow("the catalog {name} has faults, {count} in all", "Correct these places.")
UNKNOWN_NAME = OperatorRow("{name} is not a known {what}", "It is one of: {listed}.")
NOT_A_TABLE = OperatorRow("{name} is not a table", "Write its options as {{ name = value }}.")
INVALID_OPTION = OperatorRow("{name} is not valid: {reason}", "docs/reference lists the options.")
MISSING_OPTION = OperatorRow("{table} has no {name}", "Add it.")
NOT_AN_IDENTIFIER = OperatorRow("{name} is not a name", "Use A to Z, a to z, digits and _, at most {most} characters.")
SAME_NAME = OperatorRow("{name} has the name of {other}", "Choose another name.")
BLANK_OF_MANY = OperatorRow("blank_is_free is set for several properties, {names}", "Use it for one property.")
TWO_STAMPS = OperatorRow("two properties have modified_at", "Remove it here or from {first}.")
CONTRADICTION = OperatorRow("{name} has {one} besides {other}", "Remove one of them.")
FOLLOWS_ITSELF = OperatorRow("{name} follows from itself, through {others}", "Let one of them follow from other properties.")
LONG_KEY = OperatorRow("{name} identifies records and has the type {type}", "Use Guid, Int32, or String of at most {limit} characters.")
NEEDS_TYPE = OperatorRow("{option} needs the type {type}", "Change the type, or remove {option}.")
INVALID_EXPRESSION = OperatorRow("{expression} is not an expression",
    "Write a property, or toupper, tolower, trim or concat of properties and 'texts', or "
    "NAVIGATION/PROPERTY with a navigation property of this set.")
FOLLOWS_OTHERS = OperatorRow("{name} leads to another set than {set}, or lacks `on`",
    "Name a navigation property with `on` to a record of the same set.")
ONE_PAIR = OperatorRow("{name} does not have one pair in `on`", "Name one property of each set.")
DIFFERENT_TYPES = OperatorRow("{name} compares {own} with {other}", "Compare properties of one type.")
INVALID_VIEW = OperatorRow("the view {name} is not read-only, or shows another view", "Set read_only, and name a set that is not a view.")
NOT_IN_VIEW = OperatorRow("the view has no column for {name}", "Add it to `columns`.")
NOT_CHECKED = OperatorRow("check does not apply to {to}",
    "Use it for a navigation property to one record, with `on` and at most one value in `only`.")
NOT_CONTAINED = OperatorRow("{to} cannot be contained",
    "Use `contained` for a navigation property to many records of a set that is not a view.")
ACTION_OF_VIEW = OperatorRow("a view has no actions", "Declare the action in the set {base}.")
NOT_CHANGED = OperatorRow("an action cannot set {name}", "Remove it from `change`.")
NOT_NARROWER = OperatorRow("the field {name} accepts more than the type {type}", "Limit texts alone, to at most their length.")
NO_MEMBERS = OperatorRow("the enumeration {name} has no members", "Add some.")
NOT_A_MEMBER = OperatorRow("{name} is not a name of a member", "Use letters, digits, _ and blanks, at most {limit} characters.")

# The import of a catalog; all but the first two are lines of its report, and comments in the file
NOT_CSDL = OperatorRow("{path} is not CSDL of OData 4: {reason}", FILE_OF_METADATA)
UNWRITABLE = OperatorRow("{path} cannot be written: {reason}", "Name another file.")
SERVICE_NAME = OperatorRow("the set {name} has a name that the service needs", "Give it another name to serve it.")
NOT_ONE_KEY = OperatorRow("the set {name} has the key {key}", "A set is served whose key is one property.")
NOT_A_KEY = OperatorRow("the set {name} has the key {key} of the type {type}", "A key is a Guid, an Int32, a String or an enumeration.")
OTHER_NAMESPACE = OperatorRow("the set {name} has the type {type}", "Types of the namespace {namespace} are served.")
SAME_TYPE = OperatorRow("the set {name} has the type {type}, as {other} has", "A type is served in one set.")
OF_COMPANIES = OperatorRow("{name} is not served", "The service declares companies itself.")
LOST_TYPE = OperatorRow("{name} has the type {type}, which is not served", "Declare it with another type to serve it.")
NARROWED = OperatorRow("{name} has the type {former}", "It is served as {type}.")
RENUMBERED = OperatorRow("the members of {name} have other numbers than 0, 1, 2 and so on", "They keep their names.")
NULLABLE = OperatorRow("nullable properties: {count}", "They have the empty values of their types instead of null.")
UNLIMITED = OperatorRow("texts without a limit: {count}", "They have up to 4000 characters.")
NO_TARGET = OperatorRow("{name} leads to {type}, of which no set is served", "Import or declare one to serve it.")
NO_CONSTRAINT = OperatorRow("{name} has no ReferentialConstraint", "Add `on`, else it returns 501.")
NO_PAIR = OperatorRow("{name} does not compare one pair of served properties of one type", "Add `on`, else it returns 501.")
NOT_SERVED = OperatorRow("{name} is {what}, which is not served", "Requests for it are refused.")

# The database
NO_DATABASE = OperatorRow("the database {path} does not exist", "Create it with `comptoir migrate`, or name another one with --database.")
INVALID_DATABASE = OperatorRow("invalid database {url}", "Write {sqlite}PATH or {postgres}USER@HOST/NAME.")
MALFORMED_URL = OperatorRow("the URL of the database is malformed: {problem}",
    "Write {scheme}USER:PASSWORD@HOST:PORT/NAME, with @ : / ? # and % in the password as %40 %3A %2F %3F %23 and %25.")
_UNUSABLE = "cannot use the database {url}: {reason}"
UNUSABLE_DATABASE = OperatorRow(_UNUSABLE, "Check the log of the server.")
SERVER_UNREACHABLE = OperatorRow(_UNUSABLE, "Check host and port, and that the server runs and listens there.")
SERVER_LOST = OperatorRow(_UNUSABLE, "Check that the server runs; its log has the cause.")
SERVER_TLS = OperatorRow(_UNUSABLE, "Check sslmode and the certificates that the URL names against those of the server.")
SERVER_ROLE = OperatorRow(_UNUSABLE, "Wait until a host has that role, as after a failover, or correct target_session_attrs.")
SERVER_URL = OperatorRow(_UNUSABLE, "Correct the URL, or libpq's environment variables.")
SERVER_PROTOCOL = OperatorRow(_UNUSABLE,
    "With PgBouncer, set statement_cache to 0, or ignore_startup_parameters there; otherwise correct the URL.")
SERVER_PARAMETER = OperatorRow(_UNUSABLE, "Remove the parameter from the URL, or correct it.")
SERVER_USER = OperatorRow(_UNUSABLE, "Check user and password in the URL, PGPASSWORD or the passfile, and the server's pg_hba.conf.")
SERVER_DATABASE = OperatorRow(_UNUSABLE, "Correct the name in the URL, or create the database with CREATE DATABASE.")
SERVER_STARTING = OperatorRow(_UNUSABLE, "Wait until the server is up.")
SERVER_PRIVILEGES = OperatorRow(_UNUSABLE, "Grant this user the privileges, or name another user.")
SERVER_TABLES = OperatorRow(_UNUSABLE, "Run `comptoir migrate`.")
SERVER_SCHEMA = OperatorRow(_UNUSABLE, "Create a schema, and put it first in the search_path of this user.")
SERVER_CONNECTIONS = OperatorRow(_UNUSABLE, "Raise the server's max_connections, or lower database_connections.")
SERVER_MEMORY = OperatorRow(_UNUSABLE, "Check the server's memory and its log.")
SERVER_DISK = OperatorRow(_UNUSABLE, "Free some space on the server.")
SERVER_STANDBY = OperatorRow(_UNUSABLE, "Name the primary, or all hosts with target_session_attrs=primary.")
SERVER_LOCK = OperatorRow(_UNUSABLE, "Find the transaction in pg_stat_activity and end it, or wait for it.")
SERVER_CONFLICT = OperatorRow(_UNUSABLE, "Try again.")
SERVER_LOAD = OperatorRow(_UNUSABLE, "Try again when the load of the database is lower.")
DATABASE_FAILED = OperatorRow("{error.problem} ({log})", "{error.remedy}")
OLD_POSTGRESQL = OperatorRow("{url} is PostgreSQL {version}; {least} or later is needed", "Upgrade the server, or name another one.")
WRONG_ENCODING = OperatorRow("{url} has the encoding {encoding}, not {needed}",
    "Create another database with CREATE DATABASE … ENCODING '{needed}' TEMPLATE template0.")
STANDBY = OperatorRow("{url} is a standby, which accepts no writes",
    "Name the primary, or all hosts with target_session_attrs=primary, or set read_only to on.")
READ_ONLY_SERVER = OperatorRow("{url} is read-only", "Set default_transaction_read_only to off there, or read_only to on here.")
NO_REPLICAS = OperatorRow("{url} is a file, which has no replicas", "Remove read_database, or name a database on PostgreSQL.")
NOT_A_STANDBY = OperatorRow("{url} is not a standby, so it does not follow the database",
    "Name a standby of its primary, or remove read_database.")
ANOTHER_DATABASE = OperatorRow("{url} is the database {name}, and the primary's is {primary}", "Correct the name in the URL.")
ANOTHER_PRIMARY = OperatorRow("{url} is a standby of a different primary", "Name a standby of the server that database names.")
NOT_SQLITE_URL = OperatorRow("{url} is not an SQLite database", "Name a file.")
NOT_SQLITE = OperatorRow("{path} is not an SQLite database", "Name another file with --database.")
CANNOT_OPEN = OperatorRow("cannot open the database {path}: {reason}", "Check that the folder exists and is writable.")
CANNOT_MIGRATE = OperatorRow("cannot migrate {path}: {reason}",
    "Check that the file is writable, that no other process uses it, and that the disk has space.")
NO_DATABASE_FOLDER = OperatorRow("cannot create the folder {folder}: {reason}", "Create it, or name another database.")
READ_ONLY_FILE = OperatorRow("{path} or its folder is read-only", "Make them writable, or name another file.")
READ_ONLY_DATABASE = OperatorRow("{path} or its folder is read-only", "Make them writable, name another file, or set read_only to on.")
LOCKED_FILE = OperatorRow("{path} is locked by another process", "Stop that process, or wait for it.")
DISK_FULL = OperatorRow("the disk of {path} is full", "Free some space.")

# The schema
NO_SCHEMA = OperatorRow("{name} has no schema, and this program needs {head}", "Run `comptoir migrate`.")
OUTDATED_SCHEMA = OperatorRow("{name} has schema {revision}, and this program needs {head}", "Run `comptoir migrate`.")
NEWER_SCHEMA = OperatorRow("{name} has schema {revision}, which is newer than that of this program ({head})",
    "Upgrade comptoir, or name another database.")
LOCKED_SCHEMA = OperatorRow("cannot upgrade {name}: other transactions hold locks that the migration needs{oldest}",
    "End these transactions, or wait for them.")
NOT_DISTRIBUTABLE = OperatorRow("{url} is a file and cannot be distributed", "Name a database on PostgreSQL with Citus.")
NO_CITUS = OperatorRow("{name} lacks the extension citus",
    "Install Citus on every node, and have an administrator run CREATE EXTENSION citus in this database on every node.")
OLD_CITUS = OperatorRow("{name} has Citus {version}; {least} or later is needed",
    "Upgrade it on every node, then run ALTER EXTENSION citus UPDATE.")
NOT_DISTRIBUTED = OperatorRow("the table {table} of {name} is not distributed by {column}, or not colocated with {first}",
    "Run SELECT undistribute_table('\"{table}\"') first.")
INDEX_WITHOUT_COMPANY = OperatorRow("the unique index {index} on the table {table} of {name} lacks {column}, so Citus cannot enforce it",
    "Drop it, or put {column} first.")

# Changes that are lost
LOST_CHANGES = OperatorRow("the database lacks changes that this service has acknowledged: "
    "change {number} of the company {company}{others}",
    "Run `comptoir company renew --all`, then start again.")
UNREADABLE_WATERMARKS = OperatorRow("cannot read {path}: {reason}", "Make it readable for the service.")
DAMAGED_WATERMARKS = OperatorRow("{path} is damaged: {reason}", "Remove it.")
COMPANY_RENEWED = OperatorRow("the company {company} was renewed, since its database may have lost changes", "Start again without --since.")
LOG_ENDS = OperatorRow("the log ends at entry {last}, before --since {since}: entries were lost, as after a restore",
    "Start again without --since.")
LOG_BEGINS = OperatorRow("the log begins with entry {oldest}: others after --since {since} are no longer kept",
    "Start again without --since. Of the change log, first read all records again.")

# Companies
NO_COMPANY = OperatorRow("the company {id} does not exist", "List the companies with `comptoir company list`.")
COMPANY_EXISTS = OperatorRow("the company {id} already exists", "Choose another id.")
COMPANY_NAME_TAKEN = OperatorRow("the company {company} has the name {name} already", "Choose another name.")
SAME_COMPANY_NAME = OperatorRow("the company {id} has the name {name}, so nothing has changed", "Choose another name to rename it.")
UNFINISHED_COMPANY = OperatorRow("the copy or the deletion of the company {id} is unfinished",
    "Run the command that copies or deletes it again.")
UNPRINTABLE_COMPANY_NAME = OperatorRow("the company's name is blank or not printable", "Choose a name of printable characters.")
INVALID_COMPANY_NAME = OperatorRow("the company's name {error.problem}", "{error.remedy}")
INVALID_COMPANY_ID = OperatorRow("{text} is not a company's id", "Find the ids with `comptoir company list`.")
NOTHING_TO_RENEW = OperatorRow("a renewal needs either ids or --all", "Name the companies, or use --all for all of them.")
NO_TERMINAL = OperatorRow("a {noun} can be confirmed only in a terminal", "Use --yes to {verb} without a confirmation.")
DELETION_NOT_CONFIRMED = OperatorRow("this is not the {what} of the company", "Nothing was deleted; run the command again.")

# Keys and tokens
NO_KEY_FOLDER = OperatorRow("the key directory {path} does not exist",
    "Name the service's with --keys, or create it with `comptoir token`.")
UNUSABLE_KEY_FOLDER = OperatorRow("the key directory {folder} cannot be used: {reason}",
    "Choose another one, or change its permissions for the service's user.")
UNUSABLE_FOLDER = OperatorRow("the folder {folder} cannot be used: {reason}",
    "Choose other --keys, which it is beside, or change its permissions.")
UNUSABLE_FILE = OperatorRow("{path} does not contain {expected}", "Restore the file, or move it away.")
OPEN_TO_OTHERS = OperatorRow("other users have access to {path} (mode {mode:04o})", "Run `chmod {change} {path}`.")
KEY_STARTS_EARLIER = OperatorRow("{name} signs from {time} on", "Choose a later --at, or remove that file if no host has signed with it.")
INVALID_TIME = OperatorRow("invalid --at {text}", "Use a time within a year and with its offset, such as 2027-01-31T22:00:00Z.")
UNKNOWN_ALGORITHM = OperatorRow("the token algorithm {name} is not supported", "Use one or more of {known}.")
NO_SCOPE = OperatorRow("a token needs a scope", "Use some of: {scopes}.")
UNKNOWN_SCOPE = OperatorRow("invalid scope {name}", "Use one or more of: {scopes}.")
INVALID_TTL = OperatorRow("invalid --ttl {text}", "Use a number and s, m, h or d, such as 90s, 15m, 1h.")
SHORT_LIFETIME = OperatorRow("the lifetime of a token must be at least one second", "Set a longer one.")
INVALID_TOKEN = OperatorRow("the token cannot be issued: {reason}", "Correct its subject, companies or lifetime.")
INVALID_SUBJECT = OperatorRow("invalid subject {text}", "Use up to {most} printable characters.")
TOO_MANY_COMPANIES = OperatorRow("a token cannot contain {count} companies", "Name up to {most}, or none to allow all.")

# Clients and their roles
UNKNOWN_CLIENT = OperatorRow("the client {name} does not exist", "List the clients with `comptoir client list`.")
CLIENT_EXISTS = OperatorRow("the client {name} already exists", "Choose another name.")
INVALID_NAME = OperatorRow("invalid name {name} of {of}", "Use up to 64 letters, digits, - . and _, with a letter or a digit first.")
INVALID_RATE = OperatorRow("invalid rate {text}", "Write requests and seconds, such as 6000/300s.")
INVALID_NUMBER = OperatorRow("{text} is not a valid number", "Enter one from {low} to {high}.")
NO_CHANGES = OperatorRow("no option says what to change", "Use one of the options of --help.")
SET_AND_REMOVED = OperatorRow("the part {part} is both set and removed", "Do one of them.")
DAYS_WITHOUT_SECRET = OperatorRow("the options --days and --no-secret exclude each other",
    "Use --days of `comptoir client key add` for a key.")
TOO_MANY_CREDENTIALS = OperatorRow("the client {client} has {most} {what}s already", "Remove one with `comptoir client {what} remove`.")
NO_SECRET = OperatorRow("the client {client} has no secret that begins with {hint}", "List the clients with `comptoir client list`.")
NO_KEY = OperatorRow("the client {client} does not have the key {kid}", "List the clients with `comptoir client list`.")
CLIENT_HAS_KEY = OperatorRow("the client {client} has the key {kid} already", "Remove it first to give it another end.")
PRIVATE_KEY = OperatorRow("{path} contains a private key, which only the client may have",
    "Name a file with the public key alone, as `openssl pkey -pubout` writes it, or with the certificate alone.")
NO_PUBLIC_KEY = OperatorRow("{path} does not contain a public key or a certificate in PEM",
    "Name a file that `openssl pkey -pubout` or `openssl x509` wrote.")
UNSUPPORTED_KEY = OperatorRow("the key in {path} is not supported",
    "Use an RSA key of {least} to {most} bits, a P-256 key, or an Ed25519 key.")
CERTIFICATE_OUTSIDE_PERIOD = OperatorRow("the certificate in {path} is valid from {begin} to {end} only", "Use one that is valid now.")
NO_ROLE = OperatorRow("the role {name} does not exist", "Add it to a file and run `comptoir role apply`.")
TOO_MANY_ROLES = OperatorRow("a client cannot have {count} roles", "Name up to {most}, or add a role that has what several of them have.")
ROLE_OF_CLIENT = OperatorRow("the client {client} has the role {role}", "Give the client other roles with `comptoir client change`.")
ROLE_OF_ISSUER = OperatorRow("the issuer {issuer} maps a value to the role {role}", "Remove the issuer, and add it with other roles.")
INVALID_ROLES = OperatorRow("the file is not valid TOML: {reason}", "Correct it.")
OUTSIDE_A_ROLE = OperatorRow("{name} is outside a role", "Put it under the name of a role, such as [shop].")
INVALID_ROLE_NAME = OperatorRow("the name of the role {name} is not valid", "Use up to {most} printable characters without spaces.")
UNKNOWN_ENTITY_SET = OperatorRow("the role {role} names the entity set {name}, which does not exist", "Use a name from $metadata.")
INVALID_RIGHTS = OperatorRow("the rights of the role {role} to {entity_set} are not valid",
    'Use letters of RIMD once each, such as "RIM", or "" for no right.')

# Issuers
UNKNOWN_ISSUER = OperatorRow("the issuer {name} does not exist", "List the issuers with `comptoir issuer list`.")
ISSUER_EXISTS = OperatorRow("the issuer {name} with the URL {url} already exists", "Remove it first, or choose another name.")
ISSUER_NOT_ADDED = OperatorRow("the issuer was not added: {reason}", "Correct the URL or the issuer, or add it unchecked while it is away.")
RESERVED_NAME = OperatorRow("the name {name} begins the subjects of other parties", "Choose another name.")
OWN_URL = OperatorRow("{url} is this service", "Name another issuer.")
INVALID_MAPPING = OperatorRow("invalid mapping {text}", "Write VALUE=ROLE.")
INVALID_CLAIM = OperatorRow("invalid required claim {text}", "Write CLAIM=VALUE.")
TWO_KINDS_OF_COMPANIES = OperatorRow("the options --company and --companies-claim exclude each other", "Use one of them.")
INCOMPLETE_LOGIN = OperatorRow("a login of people needs a client and roles", "Name both, or neither.")
NO_SECRET_FILE = OperatorRow("{path} is not a file", "Write the client's secret to it.")
INVALID_LOGIN_SCOPE = OperatorRow("invalid scope {scope}", "Use printable ASCII characters without spaces, quotes and backslashes.")
INVALID_CONSOLE_ROLE = OperatorRow("invalid role of people {text}", "Write VALUE=ROLE, with the role {roles}.")
TWO_CONSOLE_ROLES = OperatorRow("{value} gives two roles", "Choose one.")

# The service
PORT_IN_USE = OperatorRow("port {port} of {host} is in use", "Stop the program that listens there, or set {prefix}port to another one.")
CANNOT_LISTEN = OperatorRow("cannot listen on {host}:{port}: {reason}", "Set {prefix}host or {prefix}port to another one.")
SERVICE_STOPPED = OperatorRow("the service has stopped because {cause}", "The log above has the details.")
UNREADABLE_CERTIFICATE = OperatorRow("{path} cannot be read: {reason}", "Check tls_certificate and tls_key, and the files' permissions.")
UNUSABLE_CERTIFICATE = OperatorRow("{certificate} cannot be used with the key {key}: {reason}",
    "Use PEM files: a certificate with its chain, and its unencrypted private key.")
CERTIFICATE_EXPIRED = OperatorRow("the certificate {path} expired at {end}", "Renew it, or check the clock of this machine.")
CERTIFICATE_BEFORE_PERIOD = OperatorRow("the certificate {path} is not valid before {begin}",
    "Renew it, or check the clock of this machine.")
TWO_CERTIFICATES = OperatorRow("--https creates a certificate, but tls_certificate is {path}", "Use one of them.")
CERTIFICATE_ENDS = OperatorRow("the certificate {path} ends at {end}", "Renew it; a service presents new files without a restart.")
SERVICE_SAYS = OperatorRow("the service at {url} says: {said}", "Its log has the details, and docs/how-to/diagnose.md what to do.")
NOT_SERVED_AT = OperatorRow("the service does not answer at {url}: {reason}",
    "Start it, let the proxy pass on all paths to it, or correct public_url.")
UNTRUSTED_PROXY = OperatorRow("the service does not see that requests to {url} come by HTTPS",
    "Let the proxy send X-Forwarded-Proto, and add its address to trusted_proxies.")
LITTLE_SPACE = OperatorRow("the file system of {path} has {mib} MiB left", "Free some space.")
CLOCK_BEHIND = OperatorRow("the last change of the company {id} is {seconds:.0f} seconds ahead of the clock",
    "Compare the clocks of the hosts; lastModifiedDateTime stays there until then.")
CHECK_UNFINISHED = OperatorRow("the check did not end within {seconds} s",
    "Find what does not answer: a lock, a network disk or a name server.")
CHECK_FAILED = OperatorRow("the check failed: {reason}", "Run it as the user of the service.")
REMOVED_COMMAND = OperatorRow("the command {name} is removed", "Use `{instead}`.")

# Samples
NO_SAMPLES = OperatorRow("--quickstart needs the sample company, which is not installed",
    "Start without it, and create a company with `comptoir company create`.")

# Copies and deletions of companies
OVERTAKEN = OperatorRow("another command {work} the company {company}", "Wait until it has ended.")
COMPANY_IN_TARGET = OperatorRow("the target already has a company {company}", "Name another target with --to.")
NAME_IN_TARGET = OperatorRow("the company {company} has the name {name} already", "Name another target with --to.")
