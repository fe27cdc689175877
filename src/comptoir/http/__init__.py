"""HTTP: from bytes on a connection to requests and back; health, metrics, the log."""
