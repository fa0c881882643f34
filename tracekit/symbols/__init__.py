"""Names for frames that a recording holds as addresses, from dSYMs, binaries and symbol maps."""
