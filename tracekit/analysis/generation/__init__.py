"""Requests to language models, by phase: prefill up to the first token, then decode, token by token."""
