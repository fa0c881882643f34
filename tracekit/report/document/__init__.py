"""Documents that people read, built once from data, and their printers: text, Markdown and HTML."""
