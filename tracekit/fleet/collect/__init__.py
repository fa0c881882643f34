"""Recordings of device farms and test results as a store of packs, and reports from the field as rows."""
