"""No output of a redacted recording has a private name: the search of ``attack/redaction.py``, short.

``REDACTION_CASES`` is the number of recordings to try (default: a few).
"""

from __future__ import annotations

import os

import pytest
from attack.redaction import case
from hypothesis import given, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("REDACTION_CASES", "4"))


@pytest.mark.integration
@settings(max_examples=CASES, deadline=None)
@given(st.integers(0, 2**32))
def test_no_output_has_a_private_name(seed: int) -> None:
    assert case(seed).finds == ()


@pytest.mark.integration
def test_every_output_is_searched() -> None:
    assert case(1, all_outputs=True).finds == ()
