"""The notebook of the documentation runs from top to bottom."""

from __future__ import annotations

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.integration  # a kernel is a process


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own libraries
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT / "docs")}})
        # In a thread: a browser of another test may keep an event loop running in this one.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, client.async_execute()).result()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type in ("error", "stream")]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/plain", "text/html"} <= kinds
    timelines = [output for output in outputs if "application/vnd.plotly.v1+json" in output.get("data", {})]
    assert len(timelines) == 1


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
