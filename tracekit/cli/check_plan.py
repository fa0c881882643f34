"""``tracekit check plan``: requirements on a plan, before anything is recorded."""

from __future__ import annotations

import click

from tracekit.cli.checking import CheckOptions, add_check_options
from tracekit.cli.output import HELP

TABLE = "check.plan"
"""The table of requirements on plans in a ``tracekit.toml``."""


@click.command("plan", context_settings=HELP, short_help="Check a plan against requirements, for CI.")
@click.argument("path", metavar="PLAN", type=click.Path())
@add_check_options("'ANE regions >= 1' or 'ops off ANE <= 3'", "'kind gather on CPU' or 'GPU'")
def check_plan_command(path: str, checks: CheckOptions) -> None:
    """Check a plan against requirements: exit code 1 if one fails, 5 if the plan does not decide one.

    PLAN is anything that tracekit plan reads; a recording of the name "plan" is ./plan. A plan is what a
    compiler or a runtime anticipates: nothing is recorded. An operation without a stated engine may run on
    any: a requirement passes only where that changes nothing. tracekit explain plan-requirements prints the
    language.

    \b
    Examples:
      tracekit check plan analytics.mil --require 'ANE regions >= 1' --require 'ops off ANE <= 3'
      tracekit check plan analytics.mil --require 'cost on ANE >= 95%' --junit plan.xml
      tracekit check plan analytics.mil --require 'kind conv on ANE' --forbid GPU --format github
    """
    checks.check_outputs()

    from tracekit.checks.plans.plan_parser import parse_plan_requirement

    requirements = checks.parse_requirements(parse_plan_requirement, TABLE)

    from tracekit.checks.plans.plan_check import check_plan
    from tracekit.checks.results import choose_exit_code
    from tracekit.mlmodels.plans import read_plan
    from tracekit.report.checks.github import to_github
    from tracekit.report.checks.json import to_json
    from tracekit.report.checks.junit import to_junit
    from tracekit.report.checks.markdown import to_markdown
    from tracekit.report.checks.text import to_text

    plan = read_plan(path)
    results = check_plan(plan, requirements)
    writers = {
        "text": to_text,
        "markdown": to_markdown,
        "json": to_json,
        "junit": to_junit,
        "github": to_github,
    }
    checks.write(results, f"plan {plan.path.name}", (), writers)
    if code := choose_exit_code(result.outcome for result in results):
        click.get_current_context().exit(code)
