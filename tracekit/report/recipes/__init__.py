"""Recipes: questions to a recording, each declared once with what it needs and its reply."""
