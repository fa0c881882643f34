"""DWARF 2 to 5 of a dSYM: as much of it as source lines and inlined functions need, within a budget."""
