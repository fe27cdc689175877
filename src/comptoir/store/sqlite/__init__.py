"""The store on SQLite: one file, one writer thread, reads in the event loop and on scan threads."""
