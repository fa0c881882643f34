"""The memory that processes hold on the Neural Engine: the name of its tracks."""

HELD_TRACK = "Held on the Neural Engine: "
"""A process and its number follow. What holds memory has programs loaded there, which is no work."""
HELD_UNIT = "MB"
