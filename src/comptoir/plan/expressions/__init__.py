"""Expressions bound to a model: names become properties, literals become slots, types are checked.

A construct of OData that is not supported is refused by name (501). A construct that does not fit
the entity type is refused with its column (400). Nothing is ignored.
"""
