"""The reader of what ``xctrace export`` writes: tables of contents and query results."""
