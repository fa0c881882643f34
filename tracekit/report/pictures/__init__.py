"""The timeline as a still picture, SVG or PNG, without a browser."""
