"""The report as one file of HTML that asks no network for anything."""
