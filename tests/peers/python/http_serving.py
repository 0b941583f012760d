"""How the servers of the tests on both versions of the Python SDK are served over HTTP."""

import contextlib
import signal
import socket
import sys

import anyio
import uvicorn


class Uvicorn(uvicorn.Server):
    """Leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield


async def serve_http(app, sessions):
    """Serves until it is told to end, and then fails if a client has left its session open."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)

    serving = Uvicorn(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    left_open = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serving.serve, [listening])
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            await anext(signals)
            left_open += [each for each in sessions._server_instances.values() if not each.is_terminated]
            serving.should_exit = True
    if left_open:
        sys.exit(f"{len(left_open)} sessions were never closed")
