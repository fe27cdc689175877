"""Rehearsals: lets requests meet the faults that the rules of `comptoir.rehearsal` choose.

The rest of `comptoir.http` knows only what `pipeline` declares, and imports nothing from here.
"""
