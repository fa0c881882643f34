"""The results of checks as text, Markdown, JSON, JUnit XML and GitHub annotations."""
