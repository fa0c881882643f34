"""Recording from the page: what there is to record, one attempt at a time, each in a process of its own."""
