"""Flask routes: bytes for our own scripts, and files for people."""
