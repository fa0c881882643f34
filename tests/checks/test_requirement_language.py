"""The language of requirements: what is understood, and where an error points."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.checks.parser import parse_change, parse_requirement
from tracekit.checks.requirements import RATE, ChangeRule, Condition, EnginePresence, Metric
from tracekit.comparison.metrics import FIRST_TOKEN
from tracekit.errors import UsageError
from tracekit.model.vocabulary import Phase

LENGTH = "length"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p90 <= 8ms", Condition(Metric(LENGTH, statistic="p90"), "<=", 8e6)),
        ("p90<=8ms", Condition(Metric(LENGTH, statistic="p90"), "<=", 8e6)),
        ("P99.9 ≤ 8.5 ms", Condition(Metric(LENGTH, statistic="p99.9"), "<=", 8.5e6)),
        ("p50 length < 900us", Condition(Metric(LENGTH, statistic="p50"), "<", 9e5)),
        ("warm p99 <= 12ms", Condition(Metric(LENGTH, statistic="p99", part="warm"), "<=", 12e6)),
        ("max <= 1s", Condition(Metric(LENGTH, statistic="max"), "<=", 1e9)),
        ("first <= 50ms", Condition(Metric(LENGTH, statistic="max", part="first"), "<=", 5e7)),
        ("ANE share >= 0.8", Condition(Metric("share", "ANE"), ">=", 0.8)),
        ("ane share >= 80%", Condition(Metric("share", "ANE"), ">=", 0.8)),
        ("MIXED share == 0", Condition(Metric("share", "MIXED"), "==", 0.0)),
        ("ANE used share == 100%", Condition(Metric("used share", "ANE"), "==", 1.0)),
        ("CPU busy <= 3ms", Condition(Metric("busy", "CPU", "p90"), "<=", 3e6)),
        ("max GPU busy <= 3ms", Condition(Metric("busy", "GPU", "max"), "<=", 3e6)),
        ("ANE busy share >= 50%", Condition(Metric("busy share", "ANE", "mean"), ">=", 0.5)),
        ("CPU samples share <= 5%", Condition(Metric("samples share", "CPU"), "<=", 0.05)),
        ("RUNTIME waiting <= 1ms", Condition(Metric("waiting", "RUNTIME", "p90"), "<=", 1e6)),
        ("hand-offs <= 2", Condition(Metric("hand-offs", statistic="max"), "<=", 2.0)),
        ("mean hand-offs <= 1.5", Condition(Metric("hand-offs", statistic="mean"), "<=", 1.5)),
        ("segments <= 1", Condition(Metric("segments per inference", statistic="max"), "<=", 1.0)),
        (
            "segments per inference <= 1",
            Condition(Metric("segments per inference", statistic="max"), "<=", 1.0),
        ),
        (
            "warm mean submissions per inference in Net <= 2",
            Condition(Metric("submissions per inference", "", "mean", "warm"), "<=", 2.0, "Net"),
        ),
        ("calls >= 10", Condition(Metric("calls"), ">=", 10.0)),
        ("windows >= 10", Condition(Metric("calls"), ">=", 10.0)),
        ("calls > 10", Condition(Metric("calls"), ">", 10.0)),
        ("calls > 16.7ms <= 1%", Condition(Metric("late", limit_ns=16.7e6), "<=", 0.01)),
        ("calls > 500 us in Net <= 0.01", Condition(Metric("late", limit_ns=5e5), "<=", 0.01, "Net")),
        ("tokens per second >= 20", Condition(Metric(RATE, "", "mean", "decode"), ">=", 20.0)),
        ("tokens per second >= 20 in decode", Condition(Metric(RATE, "", "mean", "decode"), ">=", 20.0)),
        (
            "min tokens per second in prefill > 500 in Chat",
            Condition(Metric(RATE, "", "min", "prefill"), ">", 500.0, "Chat"),
        ),
        (
            "tokens per second in Chat >= 20 in decode",
            Condition(Metric(RATE, "", "mean", "decode"), ">=", 20.0, "Chat"),
        ),
        ("time to first token <= 300ms", Condition(Metric(FIRST_TOKEN, "", "max"), "<=", 3e8)),
        (
            "p50 time to first token <= 0.3s in Chat",
            Condition(Metric(FIRST_TOKEN, "", "p50"), "<=", 3e8, "Chat"),
        ),
        ("load <= 500ms", Condition(Metric("load"), "<=", 5e8)),
        ("compile == 0ms", Condition(Metric("compile"), "==", 0.0)),
        ("thermal <= fair", Condition(Metric("thermal"), "<=", 1.0)),
        ("issues == 0", Condition(Metric("issues"), "==", 0.0)),
        ("errors == 0", Condition(Metric("issues", code="error"), "==", 0.0)),
        ("issues null-stacks <= 3", Condition(Metric("issues", code="null-stacks"), "<=", 3.0)),
        ("p90 in MyModel <= 8ms", Condition(Metric(LENGTH, statistic="p90"), "<=", 8e6, "MyModel")),
        ("p90 <= 8ms in 'My Model*'", Condition(Metric(LENGTH, statistic="p90"), "<=", 8e6, "My Model*")),
        ('p90 <= 8ms in "it\'s"', Condition(Metric(LENGTH, statistic="p90"), "<=", 8e6, "it's")),
        ("windows >= 1 in -[MLModel*", Condition(Metric("calls"), ">=", 1.0, "-[MLModel*")),
    ],
)
def test_requirements(text: str, expected: Condition) -> None:
    assert parse_requirement(text).rule == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CPU", EnginePresence("CPU", None)),
        ("CPU execute in MyModel", EnginePresence("CPU", Phase.EXECUTE, "MyModel")),
        ("gpu in 'a b'", EnginePresence("GPU", None, "a b")),
        ("ANE load", EnginePresence("ANE", Phase.LOAD)),
        ("p90 > 8ms", Condition(Metric(LENGTH, statistic="p90"), ">", 8e6)),
        ("ANE share < 80%", Condition(Metric("share", "ANE"), "<", 0.8)),
        ("thermal >= serious", Condition(Metric("thermal"), ">=", 2.0)),
    ],
)
def test_what_is_forbidden(text: str, expected: Any) -> None:
    assert parse_requirement(text, forbids=True).rule == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p90>+10%", ChangeRule("p90>+10%", "p90", ">", 0.1, True)),
        ("p90 > +2ms in Net", ChangeRule("p90 > +2ms in Net", "p90", ">", 2e6, False, "Net")),
        ("warm p50 in Net > +0%", ChangeRule("warm p50 in Net > +0%", "warm p50", ">", 0.0, True, "Net")),
        ("ANE share < -10 points", ChangeRule("ANE share < -10 points", "ANE share", "<", -0.1, False)),
        ("ANE busy share < -0.2", ChangeRule("ANE busy share < -0.2", "ANE busy share", "<", -0.2, False)),
        ("hand-offs > +1", ChangeRule("hand-offs > +1", "hand-offs", ">", 1.0, False)),
        (
            "segments per inference > +0",
            ChangeRule("segments per inference > +0", "segments", ">", 0.0, False),
        ),
        ("load > +100ms", ChangeRule("load > +100ms", "load", ">", 1e8, False)),
        ("CPU samples > +5%", ChangeRule("CPU samples > +5%", "CPU samples", ">", 0.05, True)),
        ("mean > +5%", ChangeRule("mean > +5%", "mean", ">", 0.05, True)),
        (
            "tokens per second < -10%",
            ChangeRule("tokens per second < -10%", "tokens per second in decode", "<", -0.1, True),
        ),
        (
            "time to first token > +50ms in Chat",
            ChangeRule("time to first token > +50ms in Chat", "time to first token", ">", 5e7, False, "Chat"),
        ),
        ("package energy > +5%", ChangeRule("package energy > +5%", "package energy", ">", 0.05, True)),
        (
            "calls > 16.70ms in Net > +2 points",
            ChangeRule(
                "calls > 16.70ms in Net > +2 points", "calls > 16.7ms", ">", 0.02, False, "Net", 16.7e6
            ),
        ),
    ],
)
def test_changes(text: str, expected: ChangeRule) -> None:
    assert parse_change(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("p9O <= 8ms", "'p9O' is not a valid metric. Did you mean 'p90'?", 0),
        ("warm hand-of <= 2", "'hand-of' is not a valid metric. Did you mean 'hand-offs'?", 5),
        ("segments per call <= 1", "'inference' is missing after 'per'.", 13),
        ("ANE shar >= 1", "'shar' is not a valid metric of ANE. Did you mean 'share'?", 4),
        ("ANE >= 1", "a metric of ANE is missing here: busy, samples, share, used, waiting.", 4),
        ("RUNTIME busy <= 1ms", "'busy' is not a valid metric of RUNTIME. Valid: waiting.", 8),
        ("p90 <= 8", "a time with a unit is expected here: ns, us, ms or s.", 8),
        ("p90 <= 8%", "a time with a unit is expected here: ns, us, ms or s.", 8),
        ("p90 <= 8 minutes", "a time with a unit is expected here: ns, us, ms or s.", 9),
        ("ANE share >= 80", "a share is at most 1: write 80% or a fraction.", 13),
        ("ANE share >= 120%", "a share is at most 100%.", 13),
        ("ANE share >= 0.8ms", "unexpected text; put a name with spaces in quotes.", 16),
        ("p90 <= -8ms", "a value cannot be negative.", 7),
        ("p90 <= nan", "a number is expected here.", 7),
        ("p90 <= infms", "a number is expected here.", 7),
        ("p90", "a comparison is missing here, such as '<= 8ms'.", 3),
        ("p90 8ms", "a comparison is expected here: <=, <, >=, >, == or !=.", 4),
        ("p90 = 8ms", "a comparison is expected here: <=, <, >=, >, == or !=.", 4),
        ("length <= 8ms", "'length' needs a statistic before it: p50, p90, p99, mean, max or min.", 0),
        ("latency <= 8ms", "'latency' needs a statistic before it: p50, p90, p99, mean, max or min.", 0),
        ("p90 <= 8ms in My Model", "unexpected text; put a name with spaces in quotes.", 17),
        ("p90 in A <= 8ms in B", "'in' is given twice.", 16),
        ("p90 in <= 8ms", "the name of a model or call is missing after 'in'.", 7),
        ("p90 <= 8ms in ''", "the name of a model or call is missing after 'in'.", 14),
        ("calls >= 3ms", "'calls' is a count and takes no unit.", 10),
        ("calls > 3ms", "a comparison is missing here, such as '<= 8ms'.", 11),
        ("calls > 3ms <= 3ms", "a share is at most 1: write 3% or a fraction.", 15),
        ("issues == 0 in Net", "'issues' applies to the whole recording: remove 'in'.", 0),
        ("thermal <= fare", "'fare' is not a valid thermal state. Did you mean 'fair'?", 11),
        ("p0 <= 1ms", "a percentile lies above p0 and below p100; the ends are 'min' and 'max'.", 0),
        ("p100 <= 1ms", "a percentile lies above p0 and below p100; the ends are 'min' and 'max'.", 0),
        ("warm first <= 1s", "'first' cannot be combined with 'warm': remove 'warm'.", 0),
        ("warm windows >= 1", "'windows' cannot be combined with 'warm': remove 'warm'.", 0),
        ("warm load <= 1s", "'load' cannot be combined with 'warm': remove 'warm'.", 0),
        ("thermal <= 3", "a thermal state is expected here: nominal, fair, serious, critical.", 11),
        ("p90 in 'My Net <= 8ms", "this quote is not closed.", 7),
        ("issues nulstacks == 0", "'nulstacks' is not a valid issue code. Did you mean 'null-stacks'?", 7),
        (
            "issues qqq == 0",
            "'qqq' is not a valid issue code. tracekit analyze shows the code of each issue in brackets.",
            7,
        ),
        ("p50 ANE share >= 1", "'ANE share' is a single number: remove 'p50'.", 0),
        ("<= 8ms", "a metric is missing here, such as 'p90' or 'ANE share'.", 0),
    ],
)
def test_errors_point_at_the_column(text: str, message: str, column: int) -> None:
    with pytest.raises(UsageError) as raised:
        parse_requirement(text)
    assert str(raised.value) == f"--require: {message}"
    assert raised.value.lines == (text, " " * column + "^")


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("CPU excute", "'excute' is not a valid phase. Did you mean 'execute'?", 4),
        ("CPU execute execute", "unexpected text; put a name with spaces in quotes.", 12),
    ],
)
def test_errors_in_what_is_forbidden(text: str, message: str, column: int) -> None:
    with pytest.raises(UsageError) as raised:
        parse_requirement(text, forbids=True, origin="tracekit.toml: forbid[0]")
    assert str(raised.value) == f"tracekit.toml: forbid[0]: {message}"
    assert raised.value.lines == (text, " " * column + "^")


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("p90 > 10%", "a change needs a sign: +10% or -10%.", 6),
        ("p90 > -10%", "'>' needs the sign +.", 6),
        ("p90 < +10%", "'<' needs the sign -.", 6),
        ("p90 >= +10%", "'>' or '<' is expected here, such as '> +10%'.", 4),
        ("p95 > +10%", "'p95' is not a valid metric of compare. Did you mean 'p99'?", 0),
        ("max > +10%", "'max' is not a valid metric of compare.", 0),
        ("ANE share < -10%", "shares change by points: write '10 points' or 0.1.", 12),
        ("ANE share < -5", "a share changes by at most 1: write '5 points' or a fraction.", 12),
        ("CPU busy share > +1", "a share changes by at most 1: write '1 points' or a fraction.", 17),
        ("ANE share < -100 points", "a share changes by at most 100 points, so this would never fail.", 12),
        ("ANE share < -250", "a share changes by at most 100 points, so this would never fail.", 12),
        ("p90 < -100%", "a value cannot fall by more than 100%, so this would never fail.", 6),
        ("functions > +1", "'functions' is not a valid metric. Valid: p50, p90, p99, mean, warm p50,", 0),
        ("ANE energy > +3mJ", "energy changes by a percentage: +10%.", 13),
        ("calls > 16.7ms > +3%", "shares change by points: write '10 points' or 0.1.", 17),
        ("calls > +3", "'calls' is not a valid metric of compare.", 0),
        ("p90 > +10", "a percentage, or a time with a unit is expected here: ns, us, ms or s.", 9),
    ],
)
def test_errors_in_changes(text: str, message: str, column: int) -> None:
    with pytest.raises(UsageError) as raised:
        parse_change(text)
    assert str(raised.value).startswith(f"--fail-on: {message}")
    assert raised.value.lines == (text, " " * column + "^")


def test_the_example_for_an_empty_expression_is_of_its_own_language() -> None:
    examples = []
    for parse in (parse_requirement, parse_change, lambda text: parse_requirement(text, forbids=True)):
        with pytest.raises(UsageError) as raised:
            parse("")
        examples.append(str(raised.value).rpartition("such as ")[2])
    assert examples == ["'p90 <= 8ms'.", "'p90 > +10%'.", "'CPU execute in MyModel'."]


def test_an_empty_expression_and_a_book_are_refused() -> None:
    with pytest.raises(UsageError, match="the expression is empty"):
        parse_requirement("  ")
    with pytest.raises(UsageError, match="100,000 characters"):
        parse_requirement("p" * 100_000)


def test_a_long_expression_is_shown_around_the_error() -> None:
    with pytest.raises(UsageError) as raised:
        parse_requirement(f"p90 in {'x' * 300} <= 8\tminutes")
    shown, caret = raised.value.lines
    assert len(shown) <= 90
    assert shown[caret.index("^") :].startswith("minutes")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("p90 <= 8ms", "p90"),
        ("warm p99 length <= 8ms", "warm p99"),
        ("first <= 8ms", "first"),
        ("ANE busy <= 8ms", "ANE busy"),
        ("max ANE busy <= 8ms", "max ANE busy"),
        ("errors == 0", "issues error"),
        ("calls > 16.70ms <= 1%", "calls > 16.7ms"),
    ],
)
def test_a_metric_names_itself_in_the_language(text: str, name: str) -> None:
    rule = parse_requirement(text).rule
    assert isinstance(rule, Condition)
    assert rule.metric.name == name


@pytest.mark.integration
@given(st.text(max_size=60), st.booleans())
def test_whatever_is_written_is_read_or_refused(text: str, forbids: bool) -> None:
    for parse in (lambda: parse_requirement(text, forbids), lambda: parse_change(text)):
        try:
            parse()
        except UsageError as error:
            assert str(error)


WORDS = [
    "p90",
    "warm",
    "ANE",
    "share",
    "busy",
    "in",
    "Net",
    "<=",
    ">",
    "8",
    "ms",
    "%",
    "'a b'",
    "-",
    "first",
    "used",
]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_any_order_of_words_is_read_or_refused(words: list[str]) -> None:
    text = " ".join(words)
    try:
        rule = parse_requirement(text).rule
    except UsageError as error:
        assert not error.lines or error.lines[1].strip() == "^"
    else:
        assert isinstance(rule, Condition)
