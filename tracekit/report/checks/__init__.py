"""The results of checks as text, JSON, JUnit XML and GitHub annotations."""
