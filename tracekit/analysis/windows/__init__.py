"""Windows: one inference, or one run of them that cannot be separated."""
