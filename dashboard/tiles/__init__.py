"""Every sample of a recording at any zoom: columns on the disk, tiles, sums, lists and filters."""
