"""Classification rules outside recordings: as lldb breakpoints, and matched against a system's symbols."""
