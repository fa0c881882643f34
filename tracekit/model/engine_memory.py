"""What is held for the Neural Engine, memory and bandwidth: the names of the tracks."""

HELD_TRACK = "Held on the Neural Engine: "
"""A process and its number follow. What holds memory has programs loaded there, which is no work."""
HELD_UNIT = "MB"
FLOOR_TRACK = "Floor held for the Neural Engine: "
"""A channel follows. The power manager keeps that much bandwidth ready, for no process by name."""
FLOOR_UNIT = "%"
