"""The only code that starts ``xctrace``: it is there on a Mac with Xcode, and nowhere else."""
