"""The results of questions about many recordings, in the forms of reports."""
