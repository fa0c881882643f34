"""Recording from the page: the host's inventory, and one attempt at a time, each in a worker process."""
