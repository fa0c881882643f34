"""Completion of words with a colon in bash, such as ``call:Tagger/2``.

Bash ends a word at a colon and replaces only what follows it, so the words are taken from the whole line, and
candidates are cut at the last colon of the word. click's script does neither.
"""

from __future__ import annotations

import os

from click.shell_completion import BashComplete, add_completion_class, split_arg_string

_SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n' completion kind value word="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=()
    for completion in $(env COMP_LINE="$word" %(complete_var)s=bash_complete "$1"); do
        IFS=',' read -r kind value <<< "$completion"
        if [[ $kind == dir ]]; then
            compopt -o dirnames
        elif [[ $kind == file ]]; then
            compopt -o default
        else
            COMPREPLY+=("$(printf '%%q' "$value")")
        fi
    done
    word="${word##*[[:space:]]}"
    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%%"${word##*:}"}"}")
    fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class LineCompletion(BashComplete):
    """Bash, with the words of the whole line."""

    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words after the program's name, and the incomplete one."""
        line = os.environ.get("COMP_LINE", "")  # started by hand, without a line
        words = split_arg_string(line)[1:]
        if not words or line[-1].isspace():
            return words, ""
        return words[:-1], words[-1]


def register() -> None:
    """Replace click's completion for bash."""
    add_completion_class(LineCompletion)
