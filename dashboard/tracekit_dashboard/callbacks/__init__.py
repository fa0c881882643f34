"""Callbacks of the pages: each takes data from the library and draws it by a function of ``pages``."""
