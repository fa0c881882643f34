"""``tracekit completion``: scripts that complete commands in a shell, and a schema for editors."""

from __future__ import annotations

import click

from tracekit.cli.output import HELP, write_output

_VARIABLE = "_TRACEKIT_COMPLETE"


@click.command("completion", context_settings=HELP, short_help="Complete commands in a shell or an editor.")
@click.argument("target", type=click.Choice(["bash", "zsh", "fish", "tracekit.toml"]))
@click.pass_context
def completion_command(context: click.Context, target: str) -> None:
    """Print what makes a shell complete tracekit's commands, or an editor its file of requirements.

    A shell completes commands, options, files, the tables, models and calls of a recording (up to 20 MB),
    recipes, findings and rules. bash needs version 4.4; macOS has zsh.

    For tracekit.toml, a JSON schema is printed: save it, and name it in the file's first line as
    "#:schema ./tracekit.schema.json", which editors with support for TOML read.

    \b
    Examples:
      eval "$(tracekit completion bash)"                       # in ~/.bashrc
      eval "$(tracekit completion zsh)"                        # in ~/.zshrc, below compinit
      tracekit completion fish > ~/.config/fish/completions/tracekit.fish
      tracekit completion tracekit.toml > tracekit.schema.json
    """
    if target == "tracekit.toml":
        import json

        from tracekit.cli.check_schema import build_config_schema

        write_output(json.dumps(build_config_schema(), indent=2) + "\n", "-", False, is_document=True)
        return
    from click.shell_completion import get_completion_class

    from tracekit.cli.bash_completion import register

    register()
    shell = get_completion_class(target)
    assert shell is not None  # one of click's
    script = shell(context.find_root().command, {}, "tracekit", _VARIABLE).source()
    write_output(script, "-", False, is_document=True)
