"""Recording: targets, instruments, the recorder and its journal; prepares and supervises xctrace."""
