"""Apps and processes: literal `ps` texts, and apps laid out in a folder as Apple's systems lay them out."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from tracekit.xctrace import mac_host as host_module
from tracekit.xctrace.mac_host import (
    App,
    Mac,
    Process,
    find_app_of_executable,
    find_main_executable,
    parse_processes,
    read_app,
)
from tracekit.xctrace.tool import CommandResult

SIMULATOR = "0F4D5D74-A4FE-4261-9596-8073565E7927"
NAMES = {"CFBundleIdentifier": "com.example.MyApp", "CFBundleExecutable": "MyApp", "CFBundleName": "My App"}


def write_info(folder: Path, **info: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Info.plist").write_bytes(plistlib.dumps(info))


def write_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def mac_app(folder: Path, name: str = "MyApp", **info: object) -> Path:
    """`X.app/Contents/Info.plist`, `X.app/Contents/MacOS/X`."""
    app = folder / f"{name}.app"
    write_info(app / "Contents", **{**NAMES, "CFBundleExecutable": name, **info})
    write_program(app / "Contents" / "MacOS" / name)
    return app


def ios_app(folder: Path, **info: object) -> Path:
    """Flat: `MyApp.app/Info.plist`, `MyApp.app/MyApp`."""
    app = folder / "MyApp.app"
    write_info(app, **{**NAMES, **info})
    write_program(app / "MyApp")
    return app


def ios_app_on_mac(folder: Path) -> Path:
    """`MyApp.app/Wrapper/MyApp.app/…`, and the link `WrappedBundle` to it."""
    app = folder / "MyApp.app"
    ios_app(app / "Wrapper")
    (app / "WrappedBundle").symlink_to("Wrapper/MyApp.app")
    return app


# Processes ------------------------------------------------------------------------------------------------


def test_processes_come_with_the_whole_path_of_their_executables() -> None:
    text = "    1 /sbin/launchd\n  501 /Users/me/My Tools/tool\n12345 (zombie)\n"
    assert parse_processes(text) == (
        Process(1, "/sbin/launchd"),
        Process(501, "/Users/me/My Tools/tool"),
        Process(12345, "(zombie)"),
    )


@pytest.mark.parametrize("line", ["", "  PID COMM", "501", "501   ", "x /bin/sh"])
def test_a_line_that_is_no_process_is_passed_over(line: str) -> None:
    assert parse_processes(f"{line}\n  7 /bin/sh\n") == (Process(7, "/bin/sh"),)


@pytest.mark.parametrize("name", ['a"b', "it's", "$(x)", "-rf", "模型", "a b  c", "a;b|c&d"])
def test_a_process_may_have_any_name(name: str) -> None:
    (process,) = parse_processes(f"  501 /opt/{name}\n")
    assert process.name == name
    assert process.matches_name(name)


def test_the_main_program_of_an_app_answers_to_all_names_of_the_app(tmp_path: Path) -> None:
    app = mac_app(tmp_path, "MyApp", CFBundleDisplayName="Shown Name")
    (process,) = parse_processes(f"501 {app}/Contents/MacOS/MyApp")
    assert process.app == App(str(app), "com.example.MyApp", "Shown Name", "MyApp")
    assert [
        name
        for name in ("MyApp", "com.example.MyApp", "Shown Name", "My App", "", "Contents")
        if process.matches_name(name)
    ] == ["MyApp", "com.example.MyApp", "Shown Name"]


def test_a_helper_is_not_its_app(tmp_path: Path) -> None:
    app = mac_app(tmp_path)
    helper = mac_app(app / "Contents" / "Frameworks", "MyApp Helper", CFBundleIdentifier="com.example.helper")
    (process,) = parse_processes(f"502 {helper}/Contents/MacOS/MyApp Helper")
    assert process.app is not None
    assert process.app.path == str(helper)
    assert not process.matches_name("MyApp")
    assert not process.matches_name("com.example.MyApp")


@pytest.mark.parametrize(
    "inside",
    [
        "Contents/XPCServices/com.example.worker.xpc/Contents/MacOS/MyApp",
        "Contents/PlugIns/Share.appex/Contents/MacOS/MyApp",
        "Contents/Frameworks/Kit.framework/Versions/A/MyApp",
        "Contents/MacOS/crash-reporter",
        "Contents/Helpers/tool",
    ],
)
def test_a_service_or_tool_inside_an_app_is_not_the_app(tmp_path: Path, inside: str) -> None:
    app = mac_app(tmp_path)
    assert find_app_of_executable(str(write_program(app / inside))) is None


def test_a_bare_program_runs_no_app() -> None:
    assert find_app_of_executable("/usr/bin/python3") is None


def test_a_simulators_process_names_its_simulator(tmp_path: Path) -> None:
    devices = tmp_path / "CoreSimulator" / "Devices" / SIMULATOR / "data/Containers/Bundle/Application/UUID"
    app = ios_app(devices)
    (process,) = parse_processes(f"777 {app}/MyApp")
    assert (process.simulator, process.name) == (SIMULATOR, "MyApp")
    assert process.matches_name("com.example.MyApp")
    assert Process(1, "/sbin/launchd").simulator == ""


# Apps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [mac_app, ios_app, ios_app_on_mac])
def test_an_app_of_every_layout_is_read(tmp_path: Path, write: object) -> None:
    app = write(tmp_path)  # type: ignore[operator]
    assert read_app(app) == App(str(app), "com.example.MyApp", "My App", "MyApp")


@pytest.mark.parametrize("write", [mac_app, ios_app, ios_app_on_mac])
def test_the_main_program_of_every_layout_is_found(tmp_path: Path, write: object) -> None:
    app = read_app(write(tmp_path))  # type: ignore[operator]
    assert app is not None
    assert find_main_executable(app).is_file()


def test_the_display_name_goes_before_the_name(tmp_path: Path) -> None:
    app = read_app(mac_app(tmp_path, CFBundleDisplayName="Shown", CFBundleName="Short"))
    assert app is not None
    assert app.display_name == "Shown"


def test_a_binary_info_plist_is_read(tmp_path: Path) -> None:
    (tmp_path / "MyApp.app").mkdir()
    info = plistlib.dumps(NAMES, fmt=plistlib.FMT_BINARY)
    (tmp_path / "MyApp.app" / "Info.plist").write_bytes(info)
    app = read_app(tmp_path / "MyApp.app")
    assert app is not None
    assert app.identifier == "com.example.MyApp"


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\xff\xfe", b"<plist", b"bplist00", plistlib.dumps(["a", "list"]), b"<plist>" * 5000],
    ids=["empty", "bytes", "cut", "cut binary", "list", "deep"],
)
def test_a_damaged_info_plist_makes_no_app(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "MyApp.app").mkdir()
    (tmp_path / "MyApp.app" / "Info.plist").write_bytes(content)
    assert read_app(tmp_path / "MyApp.app") is None


def test_names_that_are_no_text_are_left_out(tmp_path: Path) -> None:
    app = mac_app(tmp_path, CFBundleIdentifier=7, CFBundleName=["x"])
    assert read_app(app) == App(str(app), "", "", "MyApp")


def test_an_info_plist_beyond_reason_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "_INFO_LIMIT_BYTES", 100)
    assert read_app(mac_app(tmp_path)) is None


# This Mac -------------------------------------------------------------------------------------------------


@pytest.fixture
def commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that ran; Spotlight finds `Found.app`, and `Apps` is the folder of apps."""
    commands: list[list[str]] = []

    def run_command(command: list[str], _seconds: float = 0) -> CommandResult:
        commands.append(list(command))
        return CommandResult(0, f"{tmp_path}/Found.app\n{tmp_path}/Found.framework\n")

    monkeypatch.setattr(host_module, "run_command", run_command)
    monkeypatch.setattr(host_module, "_APP_FOLDERS", (str(tmp_path / "Apps"), str(tmp_path / "None")))
    return commands


def paths(apps: tuple[App, ...]) -> list[str]:
    return [Path(app.path).name for app in apps]


def test_spotlight_searches_bundle_identifiers(tmp_path: Path, commands_run: list[list[str]]) -> None:
    mac_app(tmp_path, "Found")
    assert paths(Mac().installed("com.example.MyApp")) == ["Found.app"]
    assert commands_run == [["mdfind", "kMDItemCFBundleIdentifier == 'com.example.MyApp'"]]


@pytest.mark.parametrize(
    "name", ["My App", "' || kMDItemKind == '*", "com.example.*", "a.b'c", "a.b\n", "-x"]
)
def test_names_with_query_characters_do_not_reach_spotlight(commands_run: list[list[str]], name: str) -> None:
    assert Mac().installed(name) == ()
    assert commands_run == []


def test_wrong_matches_of_spotlight_are_left_out(tmp_path: Path, commands_run: list[list[str]]) -> None:
    mac_app(tmp_path, "Found", CFBundleIdentifier="com.example.other")
    assert Mac().installed("com.example.MyApp") == ()


@pytest.mark.parametrize("name", ["Shown", "MyApp", "com.example.MyApp"])
def test_an_installed_app_is_found_by_all_its_names_once(
    tmp_path: Path, commands_run: list[list[str]], name: str
) -> None:
    app = mac_app(tmp_path / "Apps", "MyApp", CFBundleDisplayName="Shown")
    (tmp_path / "Found.app").symlink_to("nowhere")
    assert Mac().installed(name) == (App(str(app), "com.example.MyApp", "Shown", "MyApp"),)


def test_the_processes_are_those_of_ps(
    commands_run: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        host_module,
        "run_command",
        lambda command: commands_run.append(command) or CommandResult(0, "7 /bin/sh\n"),
    )
    assert Mac().processes() == (Process(7, "/bin/sh"),)
    assert commands_run == [["ps", "-axww", "-o", "pid=,comm="]]
