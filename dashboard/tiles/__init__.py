"""Every sample of a recording at any zoom: columns on the disk, and what pages ask of them."""
