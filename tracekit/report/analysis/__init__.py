"""One analysis as text, JSON and Markdown."""
