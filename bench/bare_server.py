"""The server of the bare applications: uvicorn, with the settings of the service."""

from starlette.types import ASGIApp
from uvicorn import Config, Server

from comptoir.http.supervisor import bind


def serve(application: ASGIApp) -> None:
    """Serve on a free port until a signal stops the server; prints the URL."""
    listener = bind("127.0.0.1", 0)
    print(f"Serving http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = Config(
        application,
        http="httptools",
        ws="none",
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
    )
    Server(config).run([listener])
