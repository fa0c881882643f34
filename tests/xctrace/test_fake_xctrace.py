"""The fake xctrace keeps the contract of the real one: lists, and refused command lines."""

from __future__ import annotations

import pytest
from fake_xctrace_support import ATTACH, HOST, PHONE, SHORT, SIMULATOR, Mac, mac

pytestmark = pytest.mark.integration

__all__ = ["mac"]


# Around a recording ---------------------------------------------------------------------------------------


def test_version_is_printed_as_xctrace_does(mac: Mac) -> None:
    mac.fake.configure(version="16.0", build="17E202")
    assert mac.run("version").stdout == "xctrace version 16.0 (17E202)\n"


def test_xcrun_runs_and_finds_xctrace_and_both_are_logged(mac: Mac) -> None:
    assert mac.run("xctrace", "version", program="xcrun").stdout == "xctrace version 26.0 (17C529)\n"
    assert mac.run("--find", "xctrace", program="xcrun").stdout == f"{mac.fake.folder}/xctrace\n"
    assert mac.fake.calls() == [
        ["xcrun", "xctrace", "version"],
        ["xctrace", "version"],
        ["xcrun", "--find", "xctrace"],
    ]
    assert mac.fake.calls("xctrace") == [["xctrace", "version"]]


def test_calls_are_logged_with_folder_and_xcode(mac: Mac) -> None:
    mac.run("version", DEVELOPER_DIR="/Applications/Other.app/Contents/Developer")
    (call,) = mac.fake.log()
    assert (call["cwd"], call["DEVELOPER_DIR"]) == (
        str(mac.work.resolve()),
        "/Applications/Other.app/Contents/Developer",
    )


def test_without_xcode_each_tool_has_its_own_message(mac: Mac) -> None:
    tools = {"xcode": "command-line-tools"}
    assert mac.error("--find", "xctrace", program="xcrun", **tools) == (
        72, 'xcrun: error: unable to find utility "xctrace", not a developer tool or in PATH')  # fmt: skip
    assert mac.error("version", **tools)[1].startswith("xcode-select: error: tool 'xctrace' requires Xcode")
    assert mac.run("-p", program="xcode-select").stdout == "/Library/Developer/CommandLineTools\n"
    assert mac.error("-p", program="xcode-select", xcode="none")[0] == 2
    assert mac.error("xctrace", "version", program="xcrun")[0] == 1
    assert mac.error("version", xcode="licence")[0] == 69
    assert mac.error("xctrace", "version", program="xcrun")[0] == 69


def test_developer_dir_overrides_the_selection(mac: Mac) -> None:
    mac.fake.configure(xcode="command-line-tools")
    chosen = {"DEVELOPER_DIR": "/Applications/Xcode.app/Contents/Developer"}
    assert mac.run("-p", program="xcode-select", **chosen).stdout == f"{chosen['DEVELOPER_DIR']}\n"
    assert mac.run("xctrace", "version", program="xcrun", **chosen).returncode == 0
    assert mac.run("xctrace", "version", program="xcrun", DEVELOPER_DIR="/nowhere").returncode == 1


def test_devices_are_listed_in_sections_with_the_host_among_them(mac: Mac) -> None:
    mac.fake.configure(devices=[HOST, PHONE], offline=[{**PHONE, "name": "iPhone (2)"}])
    assert mac.run("list", "devices").stdout == (
        "== Devices ==\n"
        "Test Mac (D283C622-DE11-5668-8E1F-E6234E85E6C8)\n"
        "yx’s iPhone12  (26.4) (00008101-000D482C1E78001E)\n"
        "\n"
        "== Devices Offline ==\n"
        "iPhone (2) (26.4) (00008101-000D482C1E78001E)\n"
        "\n"
        "== Simulators ==\n"
        f"iPhone 17 Simulator (26.2) ({SIMULATOR})\n"
    )


def test_devicectl_wakes_a_phone(mac: Mac) -> None:
    mac.fake.configure(offline=[PHONE])
    assert mac.error(*SHORT, "--all-processes", "--device", PHONE["udid"])[1].startswith(
        "No devices found matching"
    )
    wake = ("devicectl", "device", "info", "details", "--device", PHONE["udid"])
    assert mac.run(*wake, program="xcrun").returncode == 0
    assert "Offline" not in mac.run("list", "devices").stdout
    assert mac.run(*SHORT, "--all-processes", "--device", PHONE["udid"]).returncode == 0


@pytest.mark.parametrize(
    ("build", "only_here", "not_here"),
    [("17C529", "Core ML", "Core AI"), ("17F42", "Tailspin", "Core AI"), ("27A266a", "Core AI", "Core ML")],
)
def test_templates_follow_the_build(mac: Mac, build: str, only_here: str, not_here: str) -> None:
    mac.fake.configure(build=build, user_templates=["Mine"])
    lines = mac.run("list", "templates").stdout.splitlines()
    assert lines[0] == "== Standard Templates ==" and lines[-3:] == ["", "== User Templates ==", "Mine"]
    assert len(lines) == 1 + 25 + 3
    assert only_here in lines and not_here not in lines


def test_instruments_are_listed_plainly(mac: Mac) -> None:
    lines = mac.run("list", "instruments").stdout.splitlines()
    assert len(lines) == 64 and "Neural Engine" in lines


def test_ps_and_mdfind_accept_one_command_line_each(mac: Mac) -> None:
    mac.fake.configure(apps={"com.example.app": "/Applications/SampleApp.app"})
    output = mac.run("-axww", "-o", "pid=,comm=", program="ps").stdout
    assert output == " 4215 /Applications/SampleApp.app/Contents/MacOS/SampleApp\n"
    assert mac.run("aux", program="ps").returncode == 1
    query = "kMDItemCFBundleIdentifier == '{}'"
    assert (
        mac.run(query.format("com.example.app"), program="mdfind").stdout == "/Applications/SampleApp.app\n"
    )
    assert mac.run(query.format("com.example.other"), program="mdfind").stdout == ""


def test_unknown_settings_are_refused(mac: Mac) -> None:
    with pytest.raises(TypeError, match="no setting 'hangs'"):
        mac.fake.configure(hangs="start")
    with pytest.raises(ValueError, match="'hang' is one of"):
        mac.fake.configure(hang="stop")


# Options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("record", "--device-name", "x"), "Unrecognized argument: --device-name"),
        ((*ATTACH, "--time-limit"), "Option was given twice: --time-limit"),
        (("record", "--template"), "Missing value for option: --template"),
        (("record", "--template", "--attach", "1"), "Missing value for option: --template"),
        ((*ATTACH, "extra"), "Unrecognized argument: extra"),
        (("record", "--template=Time Profiler"), "Unrecognized argument: --template=Time Profiler"),
        ((*ATTACH, "--target-stdout", "-"), "Mutually exclusive options provided: target-stdout, attach"),
        ((*ATTACH, "--env", "A=1"), "Mutually exclusive options provided: env, attach"),
        ((*ATTACH, "--all-processes"), "Mutually exclusive options provided: attach, all-processes"),
        ((*SHORT, "--all-processes", "--launch", "--", "x"), "Mutually exclusive options provided: all-processes, launch"),
        ((*SHORT, "--target-stdin", "f", "--all-processes"), "Mutually exclusive options provided: target-stdin, all-processes"),
        (SHORT, "No target was given"),
        (("record", "--attach", "4215"), "No template or instrument was given"),
        ((*SHORT, "--launch", "x"), "Option --launch must be the last one and followed by -- command"),
        ((*SHORT, "--launch", "--output", "a.trace", "--", "x"), "Option --launch must be the last one and followed by -- command"),
        ((*SHORT, "--env", "A", "--launch", "--", "/bin/sh"), "Invalid value for option --env: A"),
        ((*ATTACH, "--append-run"), "Option --append-run needs an existing trace as --output"),
        ((*ATTACH, "--recording-options", "f"), "Unrecognized argument: --recording-options"),
        (("record", "--show-recording-options"), "Unrecognized argument: --show-recording-options"),
        (("export", "a.trace", "--toc"), "Unrecognized argument: a.trace"),
        (("export", "--input", "a", "--toc", "--xpath", "/"), "Mutually exclusive options provided: toc, xpath"),
        (("export", "--input", "a"), "Provide either --toc or --xpath"),
        (("import", "--append-run"), "Unrecognized argument: --append-run"),
        (("list", "colours"), "usage: xctrace list [devices|templates|instruments]"),
        (("recrod",), "Unknown command: recrod"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_refused(mac: Mac, arguments: tuple[str, ...], message: str) -> None:
    assert mac.error(*arguments) == (1, message)
    assert not list(mac.work.iterdir())


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--template", "Core AI", "--attach", "4215"), 1, "No templates found matching Core AI"),
        (("--template", "Twice", "--attach", "4215"), 30, "Multiple templates found matching Twice"),
        (("--instrument", "Neural Engin", "--attach", "4215"), 56, "No instruments found matching Neural Engin"),
        (("--instrument", "GPU", "--attach", "4216"), 21, "Cannot find process for provided pid: 4216"),
        (("--instrument", "GPU", "--attach", "Sample"), 19, "Cannot find process matching name: Sample"),
        (("--instrument", "GPU", "--attach", "Two"), 19, "Multiple processes found matching name: Two"),
        (("--instrument", "GPU", "--all-processes", "--device", "Twin"), 28, "Multiple devices found matching Twin"),
        (("--instrument", "GPU", "--all-processes", "--device", "?"), 1, "No devices found matching ?"),
        (("--instrument", "GPU", "--launch", "--", "/no/such"), 1, "Failed to launch process: /no/such"),
        (("--instrument", "GPU", "--attach", "4215", "--time-limit", "5"), 1, "Invalid value for option --time-limit: 5"),
        (("--instrument", "GPU", "--attach", "4215", "--window", "1h"), 1, "Invalid value for option --window: 1h"),
        (("--instrument", "GPU", "--attach", "4215", "--output", "a"), 1, "The output path must end in .trace or be a directory: a"),
        (("--instrument", "GPU", "--attach", "4215", "--output", "no/a.trace"), 1, "The directory of the output file does not exist: no/a.trace"),
    ],
)  # fmt: skip
def test_unknown_names_are_refused(mac: Mac, more: tuple[str, ...], code: int, message: str) -> None:
    mac.fake.configure(
        templates=["Twice", "Time Profiler"],
        user_templates=["Twice"],
        devices=[HOST, {"name": "Twin", "os": "1", "udid": "A"}, {"name": "Twin", "os": "2", "udid": "B"}],
        processes=[
            {"pid": 4215, "path": "/A/SampleApp"},
            {"pid": 7, "path": "/A/Two"},
            {"pid": 8, "path": "/B/Two"},
        ],
    )
    assert mac.error("record", *more) == (code, message)
    assert not list(mac.work.iterdir())


def test_an_unknown_device_is_an_error_that_lists_all(mac: Mac) -> None:
    error = mac.run(*SHORT, "--all-processes", "--device", "x").stderr
    assert "\nChoose from the list of all devices:\n== Devices ==\n[0] Test Mac (D283C" in error
    assert f"\n\n== Simulators ==\n[1] iPhone 17 Simulator (26.2) ({SIMULATOR})" in error


def test_recording_options_need_xcode_27_and_the_whole_set_of_keys(mac: Mac) -> None:
    mac.fake.configure(build="27A266a")
    shown = mac.run("record", "--template", "CPU Profiler", "--show-recording-options").stdout
    assert '"recordKernelCallstacks": false' in shown and '"hangsThreshold": 250' in shown
    assert not list(mac.work.iterdir())
    options = mac.work / "options.json"
    arguments = (
        "record",
        "--template",
        "CPU Profiler",
        "--attach",
        "4215",
        "--time-limit",
        "10ms",
        "--recording-options",
        "options.json",
    )
    for content, code in (
        (shown, 0),
        ("{}", 0),
        ('{"CPU Profiler": {"highFrequency": true}}', 57),
        ("{", 57),
    ):
        options.write_text(content)
        assert mac.run(*arguments).returncode == code


def test_run_name_came_with_xcode_26(mac: Mac) -> None:
    assert (
        mac.error(*SHORT, "--run-name", "x", "--all-processes", build="16F6")[1]
        == "Unrecognized argument: --run-name"
    )
    assert "--run-name" not in mac.run("help", "record").stdout
    mac.fake.configure(build="17A400")
    assert "--run-name <name>" in mac.run("help", "record").stdout
    assert mac.run(*SHORT, "--run-name", "x", "--all-processes").returncode == 0


def test_a_simulators_app_is_found_together_with_the_device(mac: Mac) -> None:
    app = {"pid": 99, "path": "/Sim/MyApp.app/MyApp", "display": "My App", "device": SIMULATOR}
    mac.fake.configure(processes=[app])
    on = ("--device", SIMULATOR)
    assert mac.run(*SHORT, "--attach", "99").returncode == 21
    assert mac.run(*SHORT, "--attach", "99", *on).returncode == 0
    assert mac.run(*SHORT, "--attach", "MyApp", *on).returncode == 0
    mac.fake.configure(build="17F42")
    assert mac.run(*SHORT, "--attach", "MyApp", *on).returncode == 19


def test_starting_is_quick_because_little_is_imported(mac: Mac) -> None:
    program = mac.fake.folder / "xctrace"
    modules = 'sorted(sys.modules.keys() & {"lxml", "subprocess", "dataclasses", "json"})'
    counting = f"import atexit; atexit.register(lambda: print({modules})); sys.exit(main"
    program.write_text(program.read_text().replace("sys.exit(main", counting))
    assert mac.run("help").stdout.endswith("\n['json']\n")
    assert mac.run("version").stdout == "xctrace version 26.0 (17C529)\n"  # a shell has the answer
