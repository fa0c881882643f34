"""The history of models over builds: series, changes, and how large a change a series can show."""
