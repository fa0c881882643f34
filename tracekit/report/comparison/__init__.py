"""One comparison of recordings as text, JSON and Markdown."""
