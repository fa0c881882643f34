"""The files of docs/ that programs and assistants read as they are: a JSON schema, and the skill.

python -m docs.generators.write_files     writes them (make columns)
"""

from __future__ import annotations

from pathlib import Path

from docs.generators.columns import SCHEMA, render_schema
from docs.generators.recipes import write_skill

SKILL = Path(__file__).resolve().parents[1] / "SKILL.md"


def render_files() -> dict[Path, str]:
    """Return these files with the text that they must have."""
    return {SCHEMA: render_schema(), SKILL: write_skill()}


if __name__ == "__main__":
    for path, text in render_files().items():
        path.write_text(text, "utf-8")
