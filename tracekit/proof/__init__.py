"""Claims that were never tried for this project, and the trials that settle them on a Mac."""
