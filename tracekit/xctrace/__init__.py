"""The only code that starts ``xctrace``, which exists on a Mac with Xcode only."""
