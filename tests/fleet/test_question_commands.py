"""Questions by command: the list, the forms of a result, and its notebook."""

from __future__ import annotations

import asyncio
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from fleet_rows import write_dataset
from nbclient import NotebookClient

from tracekit.cli import main

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
EVIL = "<script>alert(1)</script>\x1b[2J"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands") / "results"
    place = {"device": "Phone", "app": "Dictate", "system": "iOS 27"}
    made = [("a", "1", "Net", 4, 0), ("b", "2", "Net", 1, 3), ("c", "2", EVIL, 0, 0)]
    write_dataset(
        folder,
        recordings=[{**place, "recording": name, "build": build} for name, build, *_ in made],
        models=[
            {**place, "recording": name, "build": build, "model": model, "calls": 4, "p50_ns": 2e6, "source": "coreml"}
            for name, build, model, *_ in made
        ],
        engines=[
            {**place, "recording": name, "build": build, "model": model, "engine": "ANE", "calls": 4, "served": yes, "not_served": no, "unknown": 4 - yes - no}
            for name, build, model, yes, no in made
        ],
    )  # fmt: skip
    return folder


def command(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["fleet", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output if code else result.stdout


def test_the_list_has_what_is_missing(results: Path) -> None:
    printed = command("questions", results)
    assert printed.startswith(
        "6 questions of 14 can be answered:\n\nengine-share  Share of calls on an engine"
    )
    assert "    engine=ANE: The engine: ANE, GPU or CPU." in printed
    assert "energy  Energy of a call, by chip\n    energy.energy_per_call_nj: Energy of one call" in printed
    document = json.loads(command("questions", results, "--format", "json"))
    offered = {question["name"]: question["offered"] for question in document["questions"]}
    assert offered["latency"] and not offered["energy"]
    assert len(offered) == 14


def test_a_question_that_the_data_cannot_answer_is_not_measurable(results: Path) -> None:
    printed = command("questions", results, "segments", code=5)
    assert "no recording has a value of\n  segments.segment: The number of the segment" in printed


def test_an_answer_as_text_csv_json_and_parquet(results: Path, tmp_path: Path) -> None:
    arguments = ("questions", results, "engine-share", "--set", "model=Net")
    assert "2       25.0 %" in command(*arguments)
    lines = command(*arguments, "--format", "csv").splitlines()
    assert lines[0].startswith("app,device,device_model,system,build,model,share,")
    assert lines[1:] == ["Dictate,Phone,,iOS 27,1,Net,1.0,1.0,1.0,4,4,0,1,0", "Dictate,Phone,,iOS 27,2,Net,0.25,0.25,0.25,1,4,0,1,0"]  # fmt: skip
    document = json.loads(command(*arguments, "--format", "json"))
    assert [row["share"] for row in document["rows"]] == [1.0, 0.25]
    assert document["parameters"]["model"] == "Net"
    command(*arguments, "-o", tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column("share").to_pylist() == [1.0, 0.25]
    assert table.schema.field("share").metadata[b"unit"] == b"share"


def test_an_answer_as_a_page_has_text_of_recordings_escaped(results: Path, tmp_path: Path) -> None:
    command("questions", results, "engine-share", "-o", tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[2J" in page
    assert "<script" not in page
    assert "default-src &#x27;none&#x27;" in page


def test_text_of_recordings_is_printed_without_its_control_characters(results: Path) -> None:
    assert "\x1b" not in command("questions", results, "latency")


def test_settings_are_names_and_values(results: Path) -> None:
    assert "write NAME=VALUE" in command("questions", results, "latency", "--set", "Net", code=2)
    assert "Name a question" in command("questions", results, "--set", "model=Net", code=2)


@pytest.mark.integration  # a kernel is a process
@pytest.mark.parametrize("question", ["latency", "engine-share"])
def test_the_notebook_of_a_question_runs(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "x.ipynb"
    command("notebook", question, results, "--set", "model=Net", "-o", path)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own libraries
        client = NotebookClient(notebook, timeout=300)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, client.async_execute()).result()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in outputs if output.output_type in ("error", "stream")] == []
    (figure,) = (
        output.data["application/vnd.plotly.v1+json"]
        for output in outputs
        if "application/vnd.plotly.v1+json" in output.get("data", {})
    )
    drawn = {"latency": "length_ms", "engine-share": "share"}[question]
    assert figure["layout"]["yaxis"]["title"]["text"] == drawn
    assert [trace["name"] for trace in figure["data"]] == ["Net"]


def test_a_notebook_that_cannot_run_is_not_written(results: Path, tmp_path: Path) -> None:
    command("notebook", "energy", results, "-o", tmp_path / "x.ipynb", code=5)
    assert list(tmp_path.iterdir()) == []
