"""The addresses on which the dashboard listens, and the command that starts it."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from dashboard_support import ROOT, Running, free_port

from tracekit.cli import main
from tracekit.errors import UsageError
from tracekit_dashboard import server
from tracekit_dashboard.server import (
    FIRST_PORT,
    build_address,
    list_ip_addresses,
    list_other_addresses,
    open_listener,
)
from tracekit_dashboard.settings import Settings, find_default_folder


def test_a_port_of_its_own_that_others_cannot_reach(tmp_path: Path) -> None:
    first, settings = open_listener(Settings(tmp_path))
    second, second_settings = open_listener(Settings(tmp_path))
    with first, second:
        assert settings.port >= FIRST_PORT and second_settings.port > settings.port
        assert first.getsockname() == ("127.0.0.1", settings.port)
        assert settings.token == ""
        with pytest.raises(
            UsageError, match=f"Port {settings.port} is taken. Choose another one with --port"
        ):
            open_listener(Settings(tmp_path, port=settings.port))


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_host_that_others_reach_gets_a_token(host: str, tmp_path: Path) -> None:
    try:
        listener, settings = open_listener(Settings(tmp_path, host=host))
    except UsageError:
        pytest.skip("no IPv6 here")
    listener.close()
    assert len(settings.token) >= 32
    again, second_settings = open_listener(Settings(tmp_path, host=host))
    again.close()
    assert settings.token != second_settings.token


def test_another_name_needs_the_token_too(tmp_path: Path) -> None:
    listener, settings = open_listener(Settings(tmp_path, allowed_hosts=("proxy.example",)))
    listener.close()
    assert len(settings.token) >= 32
    with pytest.raises(UsageError, match="--allow-host http://x/: not a host's name"):
        open_listener(Settings(tmp_path, allowed_hosts=("http://x/",)))


def test_the_numbers_of_this_machine_are_printed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "list_ip_addresses", lambda: ["192.168.1.2", "fd00::1"])
    for host, number in (("0.0.0.0", "192.168.1.2"), ("::", "[fd00::1]")):
        settings = Settings(Path(), host=host, port=5, token="abc")
        assert list_other_addresses(settings, "/x") == [f"http://{number}:5/x?token=abc"]
    assert list_other_addresses(Settings(Path(), host="192.168.1.2", port=5, token="abc")) == []


def test_no_number_of_this_machine_is_its_own_alone() -> None:
    assert [number for number in list_ip_addresses() if ipaddress.ip_address(number).is_loopback] == []


@pytest.mark.integration
def test_the_message_of_the_start_and_of_a_second_one_on_the_same_library(
    running: Running, tmp_path: Path
) -> None:
    started = running("--allow-host", "proxy.example", "--library", os.path.relpath(tmp_path / "here", ROOT))
    token = started.address.partition("?token=")[2]
    assert len(token) >= 32
    assert f"By proxy.example, open /?token={token} there once.\n" in started.log()
    assert f"Its library is {tmp_path / 'here'}. Ctrl-C ends it." in started.log()
    second = CliRunner().invoke(main, ["dashboard", "--no-browser", "--library", str(tmp_path / "here")])
    assert second.exit_code != 0
    assert second.stderr.startswith("Error: Another dashboard")
    assert "Traceback" not in second.stderr


def test_a_host_that_is_not_this_machine_s_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot listen on 192\.0\.2\.1"):
        open_listener(Settings(tmp_path, host="192.0.2.1"))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(Path(), port=5), "http://127.0.0.1:5/x"),
        (Settings(Path(), host="::1", port=5), "http://[::1]:5/x"),
        (Settings(Path(), host="mac.local", port=5, token="abc"), "http://mac.local:5/x?token=abc"),
        (
            Settings(Path(), host="0.0.0.0", port=5, token="abc"),
            f"http://{socket.gethostname()}:5/x?token=abc",
        ),
    ],
)
def test_the_address_that_is_printed(settings: Settings, expected: str) -> None:
    assert build_address(settings, "/x") == expected


@pytest.mark.integration
def test_help_is_quick() -> None:
    """The command is found without loading what it needs."""
    code = (
        "import sys; from click.testing import CliRunner; from tracekit.cli import main;"
        "done = CliRunner().invoke(main, ['--help']);"
        "assert 'dashboard' in done.output;"
        "sys.exit(any(one in sys.modules for one in ('dash', 'flask', 'sqlalchemy', 'numpy', 'waitress')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_missing_inputs_are_reported_before_anything_starts(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["dashboard", "none.trace", "--library", str(tmp_path / "library")])
    assert (done.exit_code, done.stderr) == (2, "Error: none.trace does not exist.\n")
    assert not (tmp_path / "library").exists()


def test_options_of_an_analysis_need_a_recording_and_fit_together(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_bytes(b"<x/>")
    library = ["--library", str(tmp_path / "library")]
    alone = CliRunner().invoke(main, ["dashboard", "--run", "2", *library])
    assert (alone.exit_code, alone.stderr.partition(":")[0]) == (2, "Error")
    assert "need its recording" in alone.stderr
    options = ["--windows", "coreml", "--window", "1ms-2ms"]
    contradictory = CliRunner().invoke(main, ["dashboard", str(tmp_path / "x.xml"), *options, *library])
    assert "Choose calls in one way" in contradictory.stderr
    assert not (tmp_path / "library").exists()


@pytest.mark.integration
def test_an_end_by_ctrl_c_is_a_clean_one_however_many_signals_follow(running: Running) -> None:
    started = running("--port", str(free_port()))
    assert urllib.request.urlopen(started.base, timeout=10).status == 200
    workers = started.children()
    for number in (signal.SIGINT, *[signal.SIGTERM, signal.SIGINT, signal.SIGHUP] * 500):
        if started.process.poll() is not None:
            break
        started.process.send_signal(number)
        time.sleep(0.01)
    assert started.process.wait(60) == 0
    assert "Traceback" not in started.log() and "SystemExit" not in started.log()
    assert started.log().endswith("The dashboard has ended.\n")
    for worker in workers:
        with pytest.raises(OSError, match=os.strerror(errno.ESRCH)):
            os.kill(worker, 0)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", started.port))


def test_the_default_folder_is_the_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert find_default_folder() == Path("/data/tracekit")
