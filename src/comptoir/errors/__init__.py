"""The errors that clients and operators can get, and their messages."""
