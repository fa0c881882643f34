"""Requirements that a recording, or a comparison of recordings, must meet; the language that states them."""
