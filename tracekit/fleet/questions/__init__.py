"""Named questions about a dataset, each declared once; ``registry.py`` lists them."""
