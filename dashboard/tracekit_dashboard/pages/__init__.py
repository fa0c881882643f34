"""Pages as pure functions: data in, a Dash layout out."""
