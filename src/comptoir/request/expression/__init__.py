"""Expressions of OData 4.01 (`$filter`, `$orderby` and the like): from text to tree.

This is syntax alone: `plan` binds names and types to a model.
"""
