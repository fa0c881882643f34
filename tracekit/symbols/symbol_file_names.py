"""First bytes and names by which files of symbols are recognised."""

ZIP_HEAD = b"PK\x03\x04"
MACHO_HEADS = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
"""Of 64 and 32 bits, and of several architectures."""
DSYM = ".dSYM"
MAP_SUFFIX = ".symbols"
"""Of a symbol map in a folder or an archive; a map that is named may have any."""
