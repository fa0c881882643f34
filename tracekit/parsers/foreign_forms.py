"""Files of Apple's tools that hold no recording that tracekit reads, by the endings of their names."""

from __future__ import annotations

from pathlib import Path

from tracekit.frozen import frozen
from tracekit.text import format_shell_command


@frozen
class ForeignForm:
    """A form in words, and what to do with it; an ``import_options`` is what xctrace needs to import it."""

    words: str
    advice: str = ""
    import_options: tuple[str, ...] = ()


_FORMS = {
    ".atrc": ForeignForm(
        "raw data of a recording, which only Instruments reads",
        import_options=("--template", "Time Profiler"),
    ),
    ".gputrace": ForeignForm(
        "a capture of Metal's debugger", "It has no times of a running app: record with Instruments."
    ),
    ".memgraph": ForeignForm("a memory graph", "It has no times: record with Instruments."),
    ".tracetemplate": ForeignForm(
        "a template of Instruments", "Record with it: tracekit record --app APP --template FILE"
    ),
    ".xcresult": ForeignForm("results of tests in Xcode", "Name the .trace that was recorded."),
}
"""``.atrc`` is named beside ``.trace`` in Apple's skill for xctrace (2026); its format is not published."""


def describe_foreign_form(path: str) -> tuple[str, str] | None:
    """Return the problem with a path that ends like a known form, and the advice; None for any other."""
    ending = Path(path).suffix.lower()
    form = _FORMS.get(ending)
    if form is None:
        return None
    advice = form.advice
    if form.import_options:
        output = f"{Path(path).stem}.trace"
        words = ["xcrun", "xctrace", "import", "--input", path, *form.import_options, "--output", output]
        advice = (
            f"Import it on a Mac, with the template that it was recorded with: {format_shell_command(words)}"
        )
    return f"ends in {ending}: {form.words}.", advice
