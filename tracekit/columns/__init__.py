"""The columns of an analysis' frames, each declared once with the function that computes it."""
