"""Packs: the tables that an analysis needs, compressed, in one file that any machine reads."""
