"""The words of a question lead to the page that settles it: the first one that the search of the site finds, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

QUESTIONS = [
    ("why did it leave the ANE", "tutorials/left-the-engine.html", "the engine was left after the sixth call and not taken again"),
    ("Why did my model leave the Neural Engine?", "tutorials/left-the-engine.html", "the engine was left after the sixth call and not taken again"),
    ("which operators", "tutorials/left-the-engine.html#which-operators", "4 of 11 operations of Encoder leave the Neural Engine"),
    ("Which operators left the Neural Engine?", "how-to.html#see-which-operators-left-the-neural-engine", "3 rules match in 4 places: 36 rules held against 11 operations"),
    ("record the first launch", "how-to.html#record-the-first-launch", "tracekit record --app build/MyApp.app --launch --preset coreml"),
    ("gate CI", "tutorials/hold-it-in-ci.html", "A requirement is a sentence; a recording meets it, breaks it, leaves it open, or cannot measure it"),
    ("How do I fail a build in CI?", "how-to.html#fail-a-build-when-the-model-leaves-the-engine", "tracekit check fallback-midway-ios27 --require"),
    ("two builds, ten recordings", "how-to.html#compare-two-builds-with-ten-recordings-each", "tracekit record --app old/MyApp.app --interleave new/MyApp.app --launch --count 10"),
    ("compare two builds", "how-to.html#compare-two-builds-with-ten-recordings-each", "they take turns, so that heat is no difference"),
    ("500 traces", "tutorials/device-lab.html", "Every recording becomes rows of one dataset"),
    ("How do I read 500 recordings of a device lab?", "how-to.html#read-500-recordings-of-a-device-lab", "tracekit fleet run lab/ -o results/"),
    ("notebook", "how-to.html#work-in-a-notebook", "analysis = tracekit.analyze(tracekit.open_trace("),
    ("without private data", "tutorials/send-a-recording.html", "A redacted pack holds what an analysis needs"),
    ("send a recording without private data", "tutorials/send-a-recording.html", "tracekit pack fallback-midway-ios27 --redact"),
    ("measured?", "how-to.html#know-whether-a-number-was-measured", "Every number has its basis beside it"),
    ("host time", "evidence.html#host-time-busy-time-calls", "A thread that waits for the Neural Engine is off the CPU and is not sampled"),
    ("spindump", "how-to.html#read-a-spindump-or-the-output-of-sample", "Such a text counts stacks, so it has no calls and no latency"),
    ("energy per inference", "how-to.html#get-the-energy-of-an-inference", "A call of Encoder took 19.7 mJ (ANE)"),
    ("dSYM", "how-to.html#name-functions-that-are-only-addresses-with-a-dsym", "tracekit analyze MyApp.trace --symbols MyApp.app.dSYM"),
    ("Xcode versions", "supported.html", "exports of xctrace Xcode 14 to 27"),
    ("Which Xcode versions are supported?", "supported.html", "bundles of Xcode 13 to 26"),
    ("Windows", "supported.html", "Reading, reports, the dashboard, comparison and checks work on macOS, Linux and Windows"),
    ("AI agent", "how-to.html#give-a-recording-to-an-ai-assistant", "A brief of at most 4 KB, whose identifiers tracekit show opens"),
    ("pip", "install.html", "python -m pip install '.[dashboard]'"),
    ("How do I install it with pip?", "install.html", "python -m pip install '.[dashboard]'"),
]  # fmt: skip
"""Words of a question, the page and section that the first result leads to, and what stands there."""


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    tab = browser.new_page()
    yield tab
    tab.close()


@pytest.mark.parametrize(("words", "address", "answer"), QUESTIONS, ids=[words for words, *_ in QUESTIONS])
def test_the_first_page_found_has_the_answer(
    site: Path, tab: Any, words: str, address: str, answer: str
) -> None:
    tab.goto(f"{(site / 'search.html').as_uri()}?q={quote(words)}")
    link = tab.locator("#search-results li a").first
    assert link.get_attribute("href") == address
    link.click()
    _, _, section = address.partition("#")
    assert answer in " ".join(tab.locator(f"#{section}" if section else "article").inner_text().split())
