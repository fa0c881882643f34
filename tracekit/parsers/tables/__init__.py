"""Schema families → the model's columns."""
