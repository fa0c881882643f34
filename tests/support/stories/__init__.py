"""Random recordings that hold their truth: which call of which model each row and each sample is of."""
