"""Answers about many recordings, in the forms of reports."""
