"""Access control: Host allow-list, token, same-origin writes, and the security headers of all responses."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit

from flask import Flask, Request, Response, redirect, request
from werkzeug.datastructures import Headers
from werkzeug.http import parse_cookie
from werkzeug.wrappers import Response as AnyResponse

from tracekit.errors import UsageError
from tracekit_dashboard.error_responses import MALFORMED, NOTHING_HERE, build_error_response
from tracekit_dashboard.settings import Settings

OWN_HEADER = "X-Tracekit"
"""A custom header makes a browser send a preflight request first when another site sets it."""
_OWN_API = "/api/"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_OWN_PLACE = re.compile(r"/(?![/\\])[\x21-\x7e]*")
"""A place on this site, as redirects name it. Browsers take ``//x`` and ``/\\x`` for other sites, and drop
control characters before they look."""
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def protect(server: Flask, settings: Settings, script_hashes: Sequence[str]) -> None:
    """Check every request before any route runs, and set the security headers of every response.

    ``script_hashes`` are those of the inline scripts of Dash's page. They must be computed after the last
    callback has been registered.
    """
    hosts = list_allowed_hosts(settings)
    policy = build_content_policy(script_hashes)

    @server.before_request
    def check() -> AnyResponse | None:
        try:
            return (
                _refuse_host(request, hosts, settings)
                or _refuse_write(request)
                or _refuse_path(request)
                or _require_token(request, settings)
            )
        except ValueError:  # a header that cannot be parsed, such as Origin: http://[
            return build_error_response(400, MALFORMED)

    @server.after_request
    def complete(response: Response) -> Response:
        if not _OWN_PLACE.fullmatch(response.headers.get("Location", "/")):
            response = build_error_response(404, NOTHING_HERE)
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["X-Frame-Options"] = "DENY"
        return response


def is_loopback(host: str) -> bool:
    """Return True for a host that only this machine reaches."""
    number = _parse_ip_number(host)
    return number.is_loopback if number else host.lower() == "localhost"


def is_every_address(host: str) -> bool:
    """Return True for 0.0.0.0 and ::, which listen at all addresses of this machine."""
    number = _parse_ip_number(host)
    return number is not None and number.is_unspecified


def is_private(settings: Settings) -> bool:
    """Return True if no other machine can reach the dashboard.

    A further allowed name belongs to a proxy, whose visitors may be anywhere.
    """
    return is_loopback(settings.host) and not settings.allowed_hosts


def check_names(names: Sequence[str]) -> None:
    """Raise ``UsageError`` unless each is a host's name or number, with or without a port."""
    for name in names:
        host, port = _split_host_and_port(name)
        if not ((_NAME.fullmatch(host) or _parse_ip_number(host)) and re.fullmatch(r"\d{0,5}", port)):
            raise UsageError(
                f"--allow-host {name}: not a host's name. Give it as browsers do, such as mac.local or"
                " proxy.example:8443, without http:// and without a path."
            )


def list_allowed_hosts(settings: Settings) -> frozenset[str]:
    """Return the accepted values of the ``Host`` header.

    They exclude names that another site has made to point at this machine (DNS rebinding).
    """
    names = {*_LOCAL_NAMES, settings.host, *settings.allowed_hosts}
    if is_every_address(settings.host):
        names.add(socket.gethostname())
    values = {f"{host}:{port or settings.port}" for host, port in map(_split_host_and_port, names)}
    # A proxy at the usual ports passes on the browser's header: the name without a port.
    values |= {
        host for host, port in map(_split_host_and_port, settings.allowed_hosts) if port in ("", "80", "443")
    }
    return frozenset(name.lower() for name in values)


def make_body_check(settings: Settings) -> Callable[[Mapping[str, str]], bool]:
    """Return a function that checks a request's headers before its body is received.

    The body of another site, or of a visitor without the token, must not cost memory.
    """
    hosts = list_allowed_hosts(settings)

    def is_expected(headers: Mapping[str, str]) -> bool:
        try:
            return (
                _is_own_host(headers.get("Host", ""), hosts, settings)
                and _is_same_origin(headers)
                and has_access(headers.get("Cookie", ""), settings)
            )
        except ValueError:  # a header that cannot be parsed
            return False

    return is_expected


def has_access(cookies: str, settings: Settings) -> bool:
    """Return True if a ``Cookie`` header proves the token, or none is needed."""
    if not settings.token:
        return True
    cookie = parse_cookie(cookies).get(_build_cookie_name(settings), "")
    return _are_equal(cookie, _compute_cookie_value(settings.token))


def build_content_policy(script_hashes: Sequence[str]) -> str:
    """Return the Content-Security-Policy: nothing from other sites, no other scripts than ours and Dash's."""
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


def _split_host_and_port(name: str) -> tuple[str, str]:
    """Return host and port, "" where none is given; an IPv6 number in brackets."""
    host, _, port = name.rpartition(":") if name.rpartition("]")[2].count(":") == 1 else (name, "", "")
    return (f"[{host.strip('[]')}]" if ":" in host else host), port


def _parse_ip_number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _refuse_host(incoming: Request, hosts: frozenset[str], settings: Settings) -> AnyResponse | None:
    if _is_own_host(incoming.headers.get("Host", ""), hosts, settings):
        return None
    return build_error_response(
        403, "This address is not one of the dashboard's. Open the address that it printed."
    )


def _is_own_host(value: str, hosts: frozenset[str], settings: Settings) -> bool:
    host = value.lower()
    name, _, port = host.rpartition(":")
    # An IP address is not looked up, so no other site can have made it point here.
    is_own_address = (
        is_every_address(settings.host) and port == str(settings.port) and _parse_ip_number(name) is not None
    )
    return host in hosts or is_own_address


def _refuse_write(incoming: Request) -> AnyResponse | None:
    if incoming.method in _READING:
        return None
    if not _is_same_origin(incoming.headers):
        return build_error_response(403, "This request comes from another site, so nothing was changed.")
    if incoming.path.startswith(_OWN_API) and incoming.headers.get(OWN_HEADER) != "1":
        return build_error_response(403, f"The header {OWN_HEADER} is missing, so nothing was changed.")
    return None


def _is_same_origin(headers: Mapping[str, str] | Headers) -> bool:
    """Return True if the browser's headers say so; browsers send one of the two with every write."""
    site = headers.get("Sec-Fetch-Site")
    if site is not None and site != "same-origin":
        return False
    origin = headers.get("Origin")
    if origin is None:
        return site == "same-origin"
    parts = urlsplit(origin)
    return parts.scheme in {"http", "https"} and parts.netloc.lower() == headers.get("Host", "").lower()


def _refuse_path(incoming: Request) -> AnyResponse | None:
    """Refuse control characters, which no address of the dashboard has."""
    return None if incoming.path.isprintable() else build_error_response(404, NOTHING_HERE)


def _require_token(incoming: Request, settings: Settings) -> AnyResponse | None:
    if not settings.token:
        return None
    token = incoming.args.get("token")
    if token is not None and incoming.method == "GET":
        if not _are_equal(token, settings.token):
            return build_error_response(
                403, "This token is wrong. Open the address that the dashboard printed."
            )
        query = urlencode([pair for pair in incoming.args.items(multi=True) if pair[0] != "token"])
        response = redirect(_make_local_path(incoming.path) + (f"?{query}" if query else ""))
        response.set_cookie(
            _build_cookie_name(settings),
            _compute_cookie_value(settings.token),
            httponly=True,
            samesite="Strict",
            secure=incoming.is_secure,
        )
        response.headers["Cache-Control"] = "no-store"
        return response
    if has_access(incoming.headers.get("Cookie", ""), settings):
        return None
    return build_error_response(401, "This dashboard needs its token. Open the address that it printed.")


def _make_local_path(path: str) -> str:
    """Return a path on this site: ``//example.com`` would lead to another one."""
    return "/" + quote(path.lstrip("/\\"))


def _are_equal(candidate: str, expected: str) -> bool:
    return hmac.compare_digest(candidate.encode("utf-8", "surrogatepass"), expected.encode())


def _build_cookie_name(settings: Settings) -> str:
    return f"tracekit-{settings.port}"


def _compute_cookie_value(token: str) -> str:
    """Return the cookie's value, which proves the token without containing it."""
    return hmac.new(token.encode(), b"tracekit dashboard", hashlib.sha256).hexdigest()
