"""Finding what to record on a literal Mac: found, never guessed."""

from __future__ import annotations

import os
import plistlib
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tracekit.errors import UsageError
from tracekit.record.target import ALL_PROCESSES, Target, find_target
from tracekit.xctrace.mac_host import App, Process
from tracekit.xctrace.xctrace_list import Device

SIM_UDID = "0F4D5D74-A4FE-4261-9596-8073565E7927"
SIMULATOR = Device("iPhone 17 Simulator", "26.2", SIM_UDID, "simulator")
PHONE = Device("My iPhone", "26.4", "00008101-000D482C1E78001E", "device")
IN_SIMULATOR = (
    f"/Users/me/Library/Developer/CoreSimulator/Devices/{SIM_UDID}/data/Containers/Bundle/Application"
)

APP = App("/Applications/MyApp.app", "com.example.MyApp", "My App", "MyApp")
RUNNING = Process(501, "/Applications/MyApp.app/Contents/MacOS/MyApp", APP)
HELPER = Process(502, "/Applications/MyApp.app/Contents/MacOS/helper")
SIMULATED = Process(
    777, f"{IN_SIMULATOR}/U/MyApp.app/MyApp", App(f"{IN_SIMULATOR}/U/MyApp.app", "com.example.MyApp")
)


@dataclass(frozen=True)
class Host:
    """A literal Mac. Implements ``host.Host``."""

    running: tuple[Process, ...] = (RUNNING, HELPER)
    apps: tuple[App, ...] = field(default=())

    def processes(self) -> tuple[Process, ...]:
        return self.running

    def installed(self, name: str) -> tuple[App, ...]:
        return tuple(app for app in self.apps if app.matches_name(name))


def refusal(
    app: str | None, host: Host | None = None, device: Device | None = None, **more: object
) -> UsageError:
    with pytest.raises(UsageError) as caught:
        find_target(app, host or Host(), device, **more)  # type: ignore[arg-type]
    return caught.value


def write_app(folder: Path, name: str = "MyApp", executable: str | None = None) -> Path:
    app = folder / f"{name}.app"
    (app / "Contents" / "MacOS").mkdir(parents=True)
    info = {"CFBundleIdentifier": f"com.example.{name}", "CFBundleExecutable": executable or name}
    (app / "Contents" / "Info.plist").write_bytes(plistlib.dumps(info))
    write_program(app / "Contents" / "MacOS" / name)
    return app


def write_program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


# By name --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["MyApp", "com.example.MyApp", "My App", "myapp", "MY APP", "COM.EXAMPLE.MYAPP"]
)
def test_a_running_app_is_attached_to_by_its_pid(name: str) -> None:
    assert find_target(name, Host()) == Target("attach", "MyApp", "501", reason="running, pid 501")


def test_a_name_in_its_own_case_goes_before_other_cases() -> None:
    host = Host((Process(1, "/bin/Tool"), Process(2, "/bin/tool")))
    assert find_target("tool", host).locator == "2"
    assert find_target("Tool", host).locator == "1"


def test_other_cases_that_are_several_are_listed() -> None:
    host = Host((Process(1, "/bin/Tool"), Process(2, "/bin/tool")))
    assert refusal("TOOL", host).lines == ("1  /bin/Tool", "2  /bin/tool")


@pytest.mark.parametrize(
    "name", ['My"App', "it's", "line\nbreak", "-rf", "--launch", "a b", "$(x)", "`x`", "模型 🧠", "a;b", "*"]
)
def test_any_name_is_only_a_name(name: str) -> None:
    host = Host((Process(9, f"/opt/{name}"),))
    target = find_target(name, host)
    assert (target.name, target.build_options()) == (name, ["--attach", "9"])


def test_two_processes_of_one_name_are_listed_with_their_pids() -> None:
    host = Host((RUNNING, Process(600, "/opt/MyApp")))
    error = refusal("MyApp", host)
    assert str(error) == "Several processes are called 'MyApp'. Name one by its pid:"
    assert error.lines == ("501  /Applications/MyApp.app/Contents/MacOS/MyApp", "600  /opt/MyApp")


def test_many_processes_of_one_name_are_not_all_listed() -> None:
    error = refusal("w", Host(tuple(Process(pid, "/opt/w") for pid in range(1, 31))))
    assert error.lines[0] == "1  /opt/w"
    assert error.lines[-1] == f"and {30 - (len(error.lines) - 1)} more"


def test_arguments_for_a_running_app_need_a_fresh_start() -> None:
    assert "arguments need a fresh start. Add --launch" in str(refusal("MyApp", arguments=["--x"]))


def test_an_app_that_does_not_run_is_started() -> None:
    target = find_target("com.example.MyApp", Host((), (APP,)), arguments=["--x", "1"])
    assert target == Target(
        "launch", "My App", "/Applications/MyApp.app", ("--x", "1"), "an app; it is not running"
    )


def test_launch_starts_an_installed_app_although_it_runs() -> None:
    target = find_target("MyApp", Host(apps=(APP,)), launch=True)
    assert target == Target("launch", "My App", "/Applications/MyApp.app", (), "an app; --launch")


def test_launch_starts_a_running_app_that_lies_in_no_folder_of_apps() -> None:
    """Such as one that Xcode built: it is known from its process."""
    app = App("/Users/me/DerivedData/MyApp.app", "com.example.MyApp", "My App", "MyApp")
    host = Host((Process(501, "/Users/me/DerivedData/MyApp.app/Contents/MacOS/MyApp", app),))
    assert find_target("MyApp", host, launch=True).build_options() == ["--launch", "--", app.path]


def test_two_installed_apps_of_one_name_are_listed_with_their_paths() -> None:
    second_app = App("/Users/me/MyApp.app", "com.example.MyApp", "My App", "MyApp")
    error = refusal("com.example.MyApp", Host((), (APP, second_app)))
    assert str(error) == "Several apps are called 'com.example.MyApp'. Name one by its path:"
    assert error.lines == ("/Applications/MyApp.app", "/Users/me/MyApp.app")


def test_of_two_installed_apps_the_one_that_runs_is_attached_to() -> None:
    second_app = App("/Users/me/MyApp.app", "com.example.MyApp", "My App", "MyApp")
    assert find_target("MyApp", Host(apps=(APP, second_app))).locator == "501"


def test_an_unknown_name_gets_similar_names() -> None:
    error = str(refusal("MyAp"))
    assert error.startswith("Nothing called 'MyAp' is running, and no installed app has that name")
    assert "Running with a similar name: " in error
    assert "MyApp" in error.partition("similar name: ")[2]


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_no_name_at_all_is_wrong_usage(name: str) -> None:
    assert "--app: name a process" in str(refusal(name))


# By pid ---------------------------------------------------------------------------------------------------


def test_a_pid_is_attached_to() -> None:
    assert find_target("502", Host()) == Target("attach", "helper", "502", reason="running, pid 502")


def test_a_pid_that_has_ended_is_an_error() -> None:
    assert str(refusal("4999")) == "There is no process 4999: it has ended. --app NAME finds it by name."


def test_without_a_process_list_xctrace_looks_the_pid_up() -> None:
    assert find_target("501", Host(())).build_options() == ["--attach", "501"]


def test_a_pid_cannot_be_launched() -> None:
    assert "a running process cannot be launched" in str(refusal("501", launch=True))


def test_a_pid_takes_no_arguments() -> None:
    assert "arguments" in str(refusal("501", arguments=["--x"]))


@pytest.mark.parametrize("digits", ["٥٠١", "５０１"])
def test_digits_of_other_scripts_are_a_name(digits: str) -> None:
    assert find_target(digits, Host((Process(3, f"/opt/{digits}"),))).locator == "3"


# By path --------------------------------------------------------------------------------------------------


def test_a_path_to_an_app_that_does_not_run_starts_it(tmp_path: Path) -> None:
    app = write_app(tmp_path)
    target = find_target(str(app), Host())
    assert (target.build_options(), target.name) == (["--launch", "--", str(app)], "MyApp")


def test_a_path_to_an_app_that_runs_attaches_to_its_main_program(tmp_path: Path) -> None:
    app = write_app(tmp_path)
    programs = (f"{app}/Contents/MacOS/helper", f"{app}/Contents/MacOS/MyApp")
    host = Host((RUNNING, *(Process(pid, path) for pid, path in zip((31, 32), programs, strict=True))))
    assert find_target(str(app), host).build_options() == ["--attach", "32"]
    assert find_target(f"{app}/", host).build_options() == ["--attach", "32"]
    assert find_target(str(app), host, launch=True, arguments=["-x"]).build_options() == [
        "--launch",
        "--",
        str(app),
        "-x",
    ]
    assert "arguments need a fresh start" in str(refusal(str(app), host, arguments=["-x"]))


def test_a_path_to_a_running_ios_app_on_a_mac_attaches_to_it(tmp_path: Path) -> None:
    outer = tmp_path / "MyApp.app"
    inner = outer / "Wrapper" / "MyApp.app"
    inner.mkdir(parents=True)
    (outer / "WrappedBundle").symlink_to("Wrapper/MyApp.app")
    (inner / "Info.plist").write_bytes(plistlib.dumps({"CFBundleExecutable": "MyApp"}))
    program = write_program(inner / "MyApp")
    assert find_target(str(outer), Host((Process(32, str(program)),))).build_options() == ["--attach", "32"]


def test_links_lead_to_what_they_name(tmp_path: Path) -> None:
    app = write_app(tmp_path / "real")
    link = tmp_path / "Link.app"
    link.symlink_to(app)
    assert find_target(str(link), Host()).locator == str(app)
    by_link = Process(32, f"{link}/Contents/MacOS/MyApp")
    assert find_target(str(app), Host((by_link,))).build_options() == ["--attach", "32"]
    assert find_target(str(link), Host((by_link,))).build_options() == ["--attach", "32"]


def test_an_app_in_this_folder_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = write_app(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert find_target("MyApp.app", Host()).locator == str(app)


def test_a_path_to_a_program_starts_it_or_attaches_to_it(tmp_path: Path) -> None:
    tool = write_program(tmp_path / "-my 'tool'")
    target = find_target(str(tool), Host(), arguments=["--model", "M"])
    assert target == Target("launch", "-my 'tool'", str(tool), ("--model", "M"), "a program")
    assert find_target(str(tool), Host((Process(8, str(tool)),))).build_options() == ["--attach", "8"]


def test_a_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    tool = write_program(tmp_path / "tool")
    assert find_target("~/tool", Host()).locator == str(tool)


def test_a_folder_that_is_no_app_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MyApp.app").mkdir()
    assert "this folder is not an app" in str(refusal(str(tmp_path / "MyApp.app")))
    assert "this folder is not an app" in str(refusal(f"{tmp_path}/"))


def test_a_file_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    assert "this file is not an executable program" in str(refusal(str(tmp_path / "text")))


@pytest.mark.parametrize(
    "path",
    ["/no/such/tool", "./no-tool", "/" + "a" * 5000, "~no_such_user/tool", "/dev/null/tool"],
    ids=["absolute", "relative", "too long", "no such user", "below a file"],
)
def test_a_path_to_nothing_is_refused(path: str) -> None:
    assert "there is no such file" in str(refusal(path))


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MyApp.app").symlink_to(tmp_path / "gone.app")
    assert "there is no such file" in str(refusal(str(tmp_path / "MyApp.app")))


# What to launch -------------------------------------------------------------------------------------------


def test_without_app_the_first_argument_is_the_program(tmp_path: Path) -> None:
    tool = write_program(tmp_path / "tool")
    target = find_target(None, Host(), launch=True, arguments=[str(tool), "--launch", "a b"])
    assert target.build_options() == ["--launch", "--", str(tool), "--launch", "a b"]


def test_a_program_of_the_path_is_named_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = write_program(tmp_path / "tool")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_target(None, Host(), arguments=["tool"]).locator == str(tool)


def test_a_program_of_this_folder_is_named_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """xctrace may have another working folder than its caller."""
    tool = write_program(tmp_path / "tool")
    monkeypatch.chdir(tmp_path)
    assert os.path.realpath(find_target(None, Host(), arguments=["./tool"]).locator) == str(tool)


def test_an_app_may_be_the_program(tmp_path: Path) -> None:
    app = write_app(tmp_path)
    assert find_target(None, Host(), arguments=[str(app), "-x"]).build_options() == [
        "--launch",
        "--",
        str(app),
        "-x",
    ]


@pytest.mark.parametrize("word", ["no-such-tool-anywhere", "/no/such/tool"])
def test_a_program_that_is_not_there_is_refused(word: str) -> None:
    assert "was not found" in str(refusal(None, arguments=[word]))


def test_a_program_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    assert "is not an executable program" in str(refusal(None, arguments=[str(tmp_path / "text")]))


def test_nothing_to_record_is_refused() -> None:
    assert "No target: name --app" in str(refusal(None))


def test_everything_is_a_target() -> None:
    assert ALL_PROCESSES.build_options() == ["--all-processes"]


def test_the_words_of_a_target_survive_a_shell() -> None:
    target = Target("launch", "x", "/opt/it's $(x)", ('a"b', "line\nbreak"))
    assert shlex.split(shlex.join(target.build_options())) == target.build_options()


# Simulators and devices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["MyApp", "com.example.MyApp", "777"])
def test_a_simulators_app_is_attached_to_by_the_pid_that_this_mac_gives_it(name: str) -> None:
    host = Host((RUNNING, SIMULATED))
    assert find_target(name, host, SIMULATOR).build_options() == ["--attach", "777"]
    lower = Device(SIMULATOR.name, "26.2", SIM_UDID.lower(), "simulator")
    assert find_target(name, host, lower).build_options() == ["--attach", "777"]


@pytest.mark.parametrize("name", ["MyApp", "777"])
def test_what_runs_in_a_simulator_only_needs_the_simulator_named(name: str) -> None:
    assert f"Name the simulator: --device {SIM_UDID}." in str(refusal(name, Host((SIMULATED,))))


def test_the_app_on_this_mac_goes_before_one_in_a_simulator_that_was_not_named() -> None:
    assert find_target("MyApp", Host((SIMULATED, RUNNING))).locator == "501"


def test_a_pid_of_this_mac_is_none_of_the_simulator() -> None:
    assert "does not run on iPhone 17 Simulator" in str(refusal("501", Host((RUNNING,)), SIMULATOR))


@pytest.mark.parametrize("launch", [False, True])
def test_an_app_of_this_mac_is_not_started_in_a_simulator(launch: bool) -> None:
    """Apps in /Applications are built for macOS."""
    error = str(refusal("MyApp", Host((), (APP,)), SIMULATOR, launch=launch))
    assert "iPhone 17 Simulator" in error


@pytest.mark.parametrize("name", ["MyApp", "com.example.MyApp", "My App", "4215"])
def test_a_devices_app_is_looked_up_by_xctrace(name: str) -> None:
    assert find_target(name, Host(), PHONE).build_options() == ["--attach", name]


def test_a_devices_app_is_started_by_its_identifier() -> None:
    target = find_target("com.example.MyApp", Host(), PHONE, launch=True, arguments=["-x"])
    assert target.build_options() == ["--launch", "--", "com.example.MyApp", "-x"]
    assert find_target(None, Host(), PHONE, arguments=["com.example.MyApp"]).locator == "com.example.MyApp"


@pytest.mark.parametrize(
    ("word", "name"), [("com.example.MyApp", "MyApp"), ("/x/MyApp.app", "MyApp"), ("My App", "My App")]
)
def test_a_devices_app_has_a_name_for_people(word: str, name: str) -> None:
    assert find_target(word, Host(), PHONE).name == name


@pytest.mark.parametrize("name", ["-rf", "--launch"])
def test_a_name_that_xctrace_would_take_for_an_option_is_refused(name: str) -> None:
    assert "xctrace would take this name for an option" in str(refusal(name, Host(), PHONE))
