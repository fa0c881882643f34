"""Distributions that tests of any room rest on."""
