"""Keeps the exchanges that have ended, without their secrets, so that people can look at them."""
