"""The library on the disk: catalog, folders, uploads, results; independent of Flask and Dash."""
