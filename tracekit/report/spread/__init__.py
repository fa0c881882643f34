"""The spread between runs in words: as a document and as data."""
