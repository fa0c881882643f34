"""Work in processes of its own: one queue, one process helper, and what the workers do."""
