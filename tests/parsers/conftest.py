"""Fixtures of the parsers' tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest import mock

import pytest
from xml_readers import READERS

from tracekit.parsers.xml import accelerator


@pytest.fixture(params=READERS, scope="module")
def each_reader(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once with each reader of exports."""
    if request.param == "compiled" and not accelerator.is_compiled():
        pytest.skip("tracekit was installed without its compiled scanner")
    with mock.patch.dict(os.environ, {accelerator.READER_VARIABLE: request.param}):
        yield request.param
