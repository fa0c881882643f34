"""Tables as recorded: the list of them, and the rows of any one."""
