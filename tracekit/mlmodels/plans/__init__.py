"""Plans: where a runtime anticipates that each operation of a model will run, and why not elsewhere."""
