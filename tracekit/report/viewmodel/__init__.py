"""What pictures of a recording are drawn from: plain arrays, for the report, images and the dashboard."""
