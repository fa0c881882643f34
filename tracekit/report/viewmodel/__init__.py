"""The view of an analysis as plain arrays, from which the report, images and the dashboard are drawn."""
