"""Analysis → what people and programs read."""
