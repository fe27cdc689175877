"""The syntax of a request, parsed from its text without a model."""
