"""Models in words: what a model file computes, as a document and as data."""
