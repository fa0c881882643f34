"""The time budget of a call: parts of its length that sum to it exactly."""
