"""Outcomes of claims for people."""
