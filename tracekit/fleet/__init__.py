"""Many recordings: their results as one dataset, and the questions that it answers."""
