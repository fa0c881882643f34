"""Stacks → engine, phase and deciding frame, by rules that are data."""
