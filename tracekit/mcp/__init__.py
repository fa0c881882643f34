"""A server of the Model Context Protocol: recordings in a few tools, each reply within a budget of bytes."""
