"""The data model: what every parser produces and every analysis reads."""
