"""Serves the peer, on the server of the bare applications: `python bench/serve_peer.py FILE`."""

import sys
from pathlib import Path

from bare_server import serve
from peer.app import application

if __name__ == "__main__":
    serve(application(Path(sys.argv[1])))
