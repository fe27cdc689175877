"""Expressions of OData 4.01 (`$filter`, `$orderby` and the like): text to tree and back.

This is syntax alone: `plan` binds names and types to a model.
"""
