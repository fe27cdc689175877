"""Notifications of the changes of records, for receivers outside."""
