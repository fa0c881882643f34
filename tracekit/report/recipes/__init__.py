"""Recipes: questions that a recording can answer, each declared once with what it needs and its reply."""
