"""Expressions bound to a model: names to properties, literals to slots, types checked.

What OData's grammar has and this binding does not is refused by name (501), what does not fit the
kind is refused with its place (400); nothing is left out in silence.
"""
