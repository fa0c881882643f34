"""The rails whose power a tool estimates, and the names of their tracks."""

from collections.abc import Mapping

ANE_RAIL, GPU_RAIL, CPU_RAIL = "ANE", "GPU", "CPU"
COMBINED, PACKAGE = "combined", "package"
SUMMED = (CPU_RAIL, GPU_RAIL, ANE_RAIL)
"""The rails whose sum is the combined power."""

TRACK_OF_RAIL: Mapping[str, str] = {
    ANE_RAIL: "Neural Engine power",
    GPU_RAIL: "GPU power",
    CPU_RAIL: "CPU power",
    COMBINED: "CPU + GPU + ANE power",
    PACKAGE: "Package power",
}
RAILS: tuple[str, ...] = tuple(TRACK_OF_RAIL)
POWER_UNIT = "mW"

POWERED_TRACK = "Neural Engine powered"
"""1 while the kernel's log has the engine powered: a state, not an amount, and of no process."""
