"""Who may ask for what: Host allow-list, token, same-origin writes, and the headers of every answer."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import socket
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

from flask import Flask, Request, Response, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from dashboard.error_responses import answer
from dashboard.settings import Settings
from tracekit.errors import UsageError

OWN_HEADER = "X-Tracekit"
"""A custom header makes a browser ask first when another site sends it: it never gets here unasked."""
_OWN_API = "/api/"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def protect(server: Flask, settings: Settings, script_hashes: Sequence[str]) -> None:
    """Check every request before any route sees it, and put the headers on every answer.

    ``script_hashes`` are those of the scripts that stand in Dash's page; the last callback must have been
    registered before they are computed.
    """
    hosts = allowed_hosts(settings)
    policy = content_policy(script_hashes)

    @server.before_request
    def check() -> AnyResponse | None:
        return (
            _refuse_host(request, hosts, settings)
            or _refuse_write(request)
            or _ask_for_token(request, settings)
        )

    @server.after_request
    def complete(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["X-Frame-Options"] = "DENY"
        return response


def is_loopback(host: str) -> bool:
    """True for a host that only this machine reaches."""
    number = _number(host)
    return number.is_loopback if number else host.lower() == "localhost"


def is_every_address(host: str) -> bool:
    """True for 0.0.0.0 and ::, which listen at all addresses of this machine."""
    number = _number(host)
    return number is not None and number.is_unspecified


def is_private(settings: Settings) -> bool:
    """True where nobody elsewhere can reach the dashboard.

    Another name that it is called by is a proxy's: who comes through it may be anywhere.
    """
    return is_loopback(settings.host) and not settings.allowed_hosts


def check_names(names: Sequence[str]) -> None:
    """Raise ``UsageError`` for what is no host's name or number, with or without a port."""
    for name in names:
        host, port = _parts(name)
        if not ((_NAME.fullmatch(host) or _number(host)) and re.fullmatch(r"\d{0,5}", port)):
            raise UsageError(
                f"--allow-host {name}: not a host's name. Give it as browsers do, such as mac.local or"
                " proxy.example:8443, without http:// and without a path."
            )


def allowed_hosts(settings: Settings) -> frozenset[str]:
    """Return the values of ``Host`` that are ours.

    A name that another site made to point at this machine (DNS rebinding) is none of them.
    """
    names = {*_LOCAL_NAMES, settings.host, *settings.allowed_hosts}
    if is_every_address(settings.host):
        names.add(socket.gethostname())
    ours = {f"{host}:{port or settings.port}" for host, port in map(_parts, names)}
    # A proxy at the usual ports passes on what browsers send it: the name without a port.
    ours |= {host for host, port in map(_parts, settings.allowed_hosts) if port in ("", "80", "443")}
    return frozenset(name.lower() for name in ours)


def content_policy(script_hashes: Sequence[str]) -> str:
    """Return the Content-Security-Policy: nothing from elsewhere, no script but our files and Dash's own."""
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src 'self'", *script_hashes]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "font-src 'self' data:",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )


def _parts(name: str) -> tuple[str, str]:
    """Return host and port, "" where none is given; an IPv6 number in brackets."""
    host, _, port = name.rpartition(":") if name.rpartition("]")[2].count(":") == 1 else (name, "", "")
    return (f"[{host.strip('[]')}]" if ":" in host else host), port


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _refuse_host(asked: Request, hosts: frozenset[str], settings: Settings) -> AnyResponse | None:
    given = asked.headers.get("Host", "").lower()
    if given in hosts:
        return None
    name, _, port = given.rpartition(":")
    if is_every_address(settings.host) and port == str(settings.port) and _number(name):
        return None  # a number needs no name server, so nobody else can have made it point here
    return answer(403, "This address is not one of the dashboard's. Open the address that it printed.")


def _refuse_write(asked: Request) -> AnyResponse | None:
    if asked.method in _READING:
        return None
    if not _is_same_origin(asked):
        return answer(403, "This request comes from another site, so nothing was changed.")
    if asked.path.startswith(_OWN_API) and asked.headers.get(OWN_HEADER) != "1":
        return answer(403, f"The header {OWN_HEADER} is missing, so nothing was changed.")
    return None


def _is_same_origin(asked: Request) -> bool:
    """True where the browser says so; one of the two headers is on every write that a browser sends."""
    site = asked.headers.get("Sec-Fetch-Site")
    if site is not None and site != "same-origin":
        return False
    origin = asked.headers.get("Origin")
    if origin is None:
        return site == "same-origin"
    parts = urlsplit(origin)
    return parts.scheme in {"http", "https"} and parts.netloc.lower() == asked.headers.get("Host", "").lower()


def _ask_for_token(asked: Request, settings: Settings) -> AnyResponse | None:
    if not settings.token:
        return None
    name, value = f"tracekit-{settings.port}", _cookie_value(settings.token)
    given = asked.args.get("token")
    if given is not None and asked.method == "GET":
        if not _are_equal(given, settings.token):
            return answer(403, "This token is wrong. Open the address that the dashboard printed.")
        rest = urlencode([(key, one) for key, one in asked.args.items(multi=True) if key != "token"])
        there = redirect(_local_path(asked.path) + (f"?{rest}" if rest else ""))
        there.set_cookie(name, value, httponly=True, samesite="Strict", secure=asked.is_secure)
        there.headers["Cache-Control"] = "no-store"
        return there
    if _are_equal(asked.cookies.get(name, ""), value):
        return None
    return answer(401, "This dashboard needs its token. Open the address that it printed.")


def _local_path(path: str) -> str:
    """Return a path that stays here: ``//elsewhere`` would lead to another site."""
    return "/" + path.replace("\\", "/").lstrip("/")


def _are_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _cookie_value(token: str) -> str:
    """Return what the cookie holds: it proves the token and does not tell it."""
    return hmac.new(token.encode(), b"tracekit dashboard", hashlib.sha256).hexdigest()
