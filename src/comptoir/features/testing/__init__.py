"""Tests of clients: a pytest plugin that starts the service, and its report of traps."""
