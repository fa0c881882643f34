"""What the pages do: each callback asks the library and hands the answer to a function of ``pages``."""
