"""The readers: files → ``Source`` → ``Table`` → the columns of a ``Trace``. Independent of the analysis."""
