"""Texts with times of their own, laid over a recording by wall clock."""
