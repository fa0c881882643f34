"""The HTTP server: waitress on a port, until the process is interrupted."""

from __future__ import annotations

import errno
import secrets
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from tracekit.errors import UsageError
from tracekit_dashboard.auth import (
    check_names,
    has_access,
    is_every_address,
    is_loopback,
    is_private,
    make_body_check,
)
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.settings import Settings

FIRST_PORT = 8127
_PORTS_TRIED = 20
_THREADS = 8
_HEADER_BYTES = 1 << 16
_RECEIVED_BYTES = 1 << 16
_HEADROOM_BYTES = 1 << 16
_CONNECTIONS = 200
_OPEN_FILES = 1024


def open_listener(settings: Settings) -> tuple[socket.socket, Settings]:
    """Return a socket that listens, and the settings with its port.

    Port 0 in the settings picks the first free one from ``FIRST_PORT`` on. A dashboard that other machines
    can reach, also through a proxy, gets a token unless it has one. Raises ``UsageError`` if the port or host
    cannot be used, and for an allowed host that is no name.
    """
    check_names(settings.allowed_hosts)
    listener = _bind_listener(settings)
    port = int(listener.getsockname()[1])
    token = settings.token or ("" if is_private(settings) else secrets.token_urlsafe(24))
    return listener, replace(settings, port=port, token=token)


def build_address(settings: Settings, path: str = "/") -> str:
    """Return the dashboard's address for a browser, with the token."""
    host = socket.gethostname() if is_every_address(settings.host) else settings.host
    return _format_address(settings, host, path)


def list_other_addresses(settings: Settings, path: str = "/") -> list[str]:
    """Return the addresses with this machine's IP addresses, for machines that cannot look up its name."""
    if not is_every_address(settings.host):
        return []
    is_ipv6 = ":" in settings.host  # an IPv6 socket accepts no IPv4, and vice versa
    return [
        _format_address(settings, number, path)
        for number in list_ip_addresses()
        if (":" in number) == is_ipv6
    ]


def list_ip_addresses() -> list[str]:
    """Return the IP addresses of this machine except loopback, without sending anything."""
    addresses: list[str] = []
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))  # an address for documentation; UDP: only the route is looked up
            addresses.append(str(probe.getsockname()[0]))
    with suppress(OSError):
        addresses += [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)]
    return [number for number in dict.fromkeys(addresses) if not is_loopback(number) and "%" not in number]


def _format_address(settings: Settings, host: str, path: str) -> str:
    host = f"[{host.strip('[]')}]" if ":" in host else host
    token = f"{'&' if '?' in path else '?'}token={settings.token}" if settings.token else ""
    return f"http://{host}:{settings.port}{path}{token}"


def serve(listener: socket.socket, settings: Settings, library: Library, ready: Callable[[], None]) -> None:
    """Serve until a signal requests the end; ``ready`` is called when requests are accepted."""
    from waitress.adjustments import Adjustments
    from waitress.task import ThreadedTaskDispatcher

    from tracekit_dashboard.app import create_app
    from tracekit_dashboard.connections import Checks, Server

    app = create_app(settings, library)
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(_THREADS)
    server = Server(
        app.server,
        checks=Checks(lambda cookies: has_access(cookies, settings), make_body_check(settings)),
        connections=_CONNECTIONS,
        _sock=listener,
        sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
        dispatcher=dispatcher,
        adj=Adjustments(
            sockets=[listener],
            max_request_header_size=_HEADER_BYTES,
            max_request_body_size=settings.limits.slice_bytes + _HEADROOM_BYTES,
            recv_bytes=_RECEIVED_BYTES,
            inbuf_overflow=_choose_body_memory(settings),
            ident=None,
            expose_tracebacks=False,
            log_socket_errors=False,  # a client that disconnects is nothing to log
        ),
    )
    _allow_open_files()
    _end_by_signal(server.stop)
    ready()
    try:
        server.run()
    finally:
        server.close()


def _allow_open_files() -> None:
    """Raise the limit on open files: macOS starts programs with 256, little more than the connections."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < _OPEN_FILES:
            limit = _OPEN_FILES if hard < 0 else min(hard, _OPEN_FILES)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _end_by_signal(stop: Callable[[], None]) -> None:
    """Call ``stop`` at the first interrupt, kill or closed terminal, and ignore further ones until the end.

    A handler that raises, as Python's own does, would raise wherever the main thread is: between two steps of
    closing the library, or in the interpreter's last moments, which prints a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

    def end(_number: int, _frame: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        stop()

    for number in numbers:
        signal.signal(number, end)


def _choose_body_memory(settings: Settings) -> int:
    """Return how much of a request's body stays in memory; a larger body goes through a temporary file.

    waitress receives the whole body before the application runs, and many visitors may send one at once. On
    a private dashboard, a slice arrives twice as fast without the file.
    """
    return settings.limits.slice_bytes if is_private(settings) else 1 << 19


def _bind_listener(settings: Settings) -> socket.socket:
    ports = [settings.port] if settings.port else [*range(FIRST_PORT, FIRST_PORT + _PORTS_TRIED), 0]
    for port in ports:
        try:
            return _open_socket(settings.host.strip("[]"), port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                problem = f"The dashboard cannot listen on {settings.host}:{port}: {error.strerror or error}."
                raise UsageError(problem) from error
    raise UsageError(f"Port {settings.port} is taken. Choose another one with --port, or leave it out.")


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, port), family=family)
