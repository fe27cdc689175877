"""The messages to operators about the sample company."""

from comptoir.errors.operator_rows import OperatorRow

NO_SAMPLE = OperatorRow("the company {name} does not exist", "Create it with `comptoir serve --quickstart`.")
SEVERAL_SAMPLES = OperatorRow("{count} companies have the name {name}", "Delete all but one with `comptoir company delete`.")
ANOTHER_SAMPLE = OperatorRow("the company {company} did not begin with the sample of this release",
    "Run `comptoir serve --quickstart` if its first start was interrupted, else delete the company with `comptoir company delete`.")
RESET_NOT_CONFIRMED = OperatorRow("the answer is not yes", "Nothing was changed; run the command again.")
UNUSABLE_SAMPLE = OperatorRow("{path} cannot be loaded: line {line}: {column}: {reason}", "Install the package again.")
