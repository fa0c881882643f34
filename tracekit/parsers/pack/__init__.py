"""Packs: the tables that an analysis needs, compressed, in one file that any machine can read.

``format`` defines the parts and their limits, ``write`` makes a pack, ``read`` decodes one, and ``source``
is a pack as a ``Source``. docs/formats.md describes the format.
"""
