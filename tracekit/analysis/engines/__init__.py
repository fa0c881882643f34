"""Engine time: interval sets, ownership, busy time, waiting, attribution, segments, counters."""
