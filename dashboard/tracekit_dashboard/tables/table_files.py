"""Names of the files of stored tables, apart from ``storing``, which needs pandas: the library does not."""

from __future__ import annotations

FORMAT = "tracekit-table/1"
FOLDER, CONTENTS, ABOUT = "tables", "contents.json", "about.json"
ROWS, STACKS, FRAMES = "rows.arrow", "stacks.arrow", "frames.arrow"
