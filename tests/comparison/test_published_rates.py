"""The tables of docs/statistics.md: no published rate is above what the product promises.

``make calibrate`` writes the tables. First sentences, gates, requirements at their limit and marks of findings
promise at most 5 %; rows that are tested alone, at their level of 5 %, may be above it by chance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "statistics.md"
PROMISED = 5.0
ERROR_RATES = ("Lengths, several", "Lengths, one", "Shares", "Functions", "`p90 <=", "`ANE share >=")
Row = dict[str, str]


def read_table(name: str) -> list[Row]:
    """Return the rows of the table that a program wrote after a comment."""
    return parse_table(read_block(name))


def read_titled_table(title: str) -> list[Row]:
    """Return the rows of the table of error rates with a title that begins so."""
    return parse_table(read_block("error rates").partition(f"**{title}")[2].partition("\n**")[0])


def read_block(name: str) -> str:
    """Return what a program wrote after a comment."""
    return (
        DOCS.read_text("utf-8").partition(f"<!-- {name}: make calibrate -->")[2].partition("<!-- end of")[0]
    )


def parse_table(text: str) -> list[Row]:
    """Return the rows of a table in Markdown."""
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    assert rows
    return [dict(zip(header, row, strict=True)) for row in rows]


def allow_for_chance(pairs: int) -> float:
    """Return what is promised and three standard errors, in percent."""
    return PROMISED + 3 * 100 * math.sqrt(0.05 * 0.95 / pairs)


def find_broken(name: str, columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the cells whose events, together, are more frequent than is promised."""
    for row in read_table(name):
        if sum(float(row[column]) for column in columns) > PROMISED:
            yield (*list(row.values())[:2], *(row[column] for column in columns))


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("first sentences", ("wrong",)),
        ("first sentences", ("gate failed",)),
        ("first sentences", ("+10 % denied",)),
        ("one run per side", ("wrong",)),
        ("one run per side", ("gate failed",)),
        ("requirements at their limit", ("p50 passed", "p50 failed")),
        ("requirements at their limit", ("p90 passed", "p90 failed")),
        *(("finding rates", (f"marked, in {share} % of runs",)) for share in (10, 25, 50, 75)),
    ],
)
def test_no_rate_is_above_its_promise(name: str, columns: tuple[str, ...]) -> None:
    assert list(find_broken(name, columns)) == []


@pytest.mark.parametrize("title", ["`p90 <= limit`", "`ANE share >= limit` at the true share"])
def test_no_requirement_is_decided_wrongly_at_its_limit_but_by_chance(title: str) -> None:
    for row in read_titled_table(title):
        passed, failed = row.get("passed 1") or row["passed"], row.get("failed 1") or row["failed"]
        # Recordings without another verdict look the same, however rare it is: docs/statistics.md says so.
        alike = row.get("none below", "0")
        wrong = float(passed) - float(alike) + float(failed)
        assert wrong <= allow_for_chance(int(row["pairs"])), row


@pytest.mark.parametrize("name", ["first sentences", "one run per side", "requirements at their limit"])
def test_all_rows_of_a_table_have_as_many_pairs(name: str) -> None:
    (count,) = {row.get("pairs") or row.get("checks") for row in read_table(name)}
    assert int(count or 0) >= 1000, name


@pytest.mark.parametrize("title", ERROR_RATES)
def test_all_rows_of_error_rates_have_as_many_pairs(title: str) -> None:
    (count,) = {row["pairs"] for row in read_titled_table(title)}
    assert int(count) >= (500 if title == "Functions" else 2000)


def test_every_measured_table_is_written_by_a_program() -> None:
    by_hand = re.sub(
        r"<!-- [\w ]+: make calibrate -->.*?<!-- end of", "", DOCS.read_text("utf-8"), flags=re.DOTALL
    )
    cells = [cell for line in by_hand.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert [cell for cell in cells if re.fullmatch(r"\s*[\d.]+\s*", cell)] == []


@pytest.mark.parametrize(
    ("name", "columns", "pairs"),
    [
        ("rates of turns", ("alarm, as here",), 4000),
        ("session rates", ("spread given", "3 builds", "6 builds"), 4000),
    ],
)
def test_rows_that_are_tested_alone_are_above_their_level_by_chance_only(
    name: str, columns: tuple[str, ...], pairs: int
) -> None:
    largest = max(float(row[column]) for row in read_table(name) for column in columns if row[column] != "–")
    assert largest <= allow_for_chance(pairs)


def test_turns_are_never_less_valid_and_find_more_where_the_machine_drifts() -> None:
    for row in read_table("rates of turns"):
        lost = float(row["found, sides"]) - float(row["found, as here"])
        assert lost <= 5.5, row  # a degree of freedom, where nothing drifts
        if row["drift"] in ("steady", "heat") and row["runs"] in ("4", "5"):
            assert lost < -10, row


def test_slow_calls_are_found_in_four_of_five_comparisons_of_five_runs() -> None:
    rows = [row for row in read_table("first sentences") if (row["calls"], row["runs"]) == ("100", "5")]
    found = {row["model"]: float(row["+10 % found"]) for row in rows}
    assert min(found["frames"], found["frames edge"]) >= 80
