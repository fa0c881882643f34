"""The classification rules outside of recordings: breakpoints for lldb, and a system's symbols of them."""
