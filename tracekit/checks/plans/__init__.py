"""Requirements that a plan must meet before anything is recorded."""
