"""An installed copy: beside the programs with its names, and with the command that adds an extra."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from package_support import Environment, write_wheel

from tracekit import __version__

pytestmark = pytest.mark.integration  # installs in processes of their own
LIST_NAMESAKES = "from tracekit.installation import list_namesakes; print(list_namesakes())"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment", hidden="pillow-")


@pytest.fixture
def index(tmp_path: Path, wheel_file: Path) -> Path:
    """A folder of wheels: ours, those of the programs with its names, and a library of an extra."""
    folder = tmp_path / "index"
    folder.mkdir()
    (folder / wheel_file.name).symlink_to(wheel_file)
    others = {
        ("tracekit", "0.3.1"): {"tracekit/__init__.py": "__version__ = '0.3.1'", "tracekit/core.py": ""},
        ("dashboard", "0.0.6"): {"dashboard/__init__.py": "NAME = 'theirs'", "dashboard/app.py": ""},
        ("llm-tracekit", "2.9.0"): {"llm_tracekit/__init__.py": ""},
        ("pillow", "99"): {"PIL/__init__.py": ""},
    }
    for (name, version), files in others.items():
        write_wheel(folder, name, version, files)
    return folder


def test_a_dashboard_of_others_stays_whole(environment: Environment, index: Path) -> None:
    environment.install("--find-links", index, "coreml-tracekit", "dashboard", "llm-tracekit")
    code = "import dashboard, tracekit_dashboard.command; print(dashboard.NAME)"
    assert environment.run("python", "-c", code).stdout == "theirs\n"
    assert environment.run("python", "-c", LIST_NAMESAKES).stdout == "[]\n"
    environment.uninstall("coreml-tracekit")
    assert environment.run("python", "-c", "import dashboard.app").returncode == 0


def test_both_programs_with_the_package_cannot_share_an_environment(
    environment: Environment, index: Path
) -> None:
    """Whichever comes last has the package; with ours, the doctor names the other."""
    environment.install("--find-links", index, "tracekit")
    environment.install("--find-links", index, "coreml-tracekit")
    assert environment.run("tracekit", "--version").stdout == f"tracekit {__version__}\n"
    assert environment.run("python", "-c", LIST_NAMESAKES).stdout == "['tracekit 0.3.1']\n"
    assert "in one environment with tracekit 0.3.1" in " ".join(
        environment.run("tracekit", "doctor").stdout.split()
    )


def test_an_upgrade_does_not_take_the_other_program(environment: Environment, index: Path) -> None:
    environment.install("--find-links", index, "coreml-tracekit")
    assert "already satisfied: coreml-tracekit" in environment.install(
        "--find-links", index, "-U", "coreml-tracekit"
    )
    assert (
        environment.run("python", "-c", "import tracekit; print(tracekit.__version__)").stdout
        == f"{__version__}\n"
    )


def test_the_demo_needs_no_checkout(environment: Environment, wheel_file: Path) -> None:
    environment.install(wheel_file)
    printed = environment.run("tracekit", "demo", "--no-browser")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert f"{environment.packages}/tracekit/samples/SpeechEncoder.tkpack" in printed.stdout
    assert "SpeechEncoder left the Neural Engine after its 6th call" in printed.stdout
    assert "ran on the Neural Engine in all 21 calls" in printed.stdout


def test_the_printed_command_adds_the_extra_to_this_copy(
    environment: Environment, index: Path, wheel_file: Path
) -> None:
    environment.install(wheel_file)
    hint = "from tracekit.installation import format_install_command; print(format_install_command('png'))"
    command = environment.run("python", "-c", hint).stdout
    assert command == f"python -m pip install 'coreml-tracekit[png] @ {wheel_file.as_uri()}'\n"
    # pip itself is taken from the environment of the tests, and changes nothing.
    plan = environment.plan(shlex.split(command)[4:], index)
    assert re.search(r"^Would install (coreml-tracekit-\S+ )?pillow-99$", plan, re.MULTILINE), plan
