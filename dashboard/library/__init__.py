"""What is kept on disk, and the work on it; knows nothing of Flask or Dash."""
