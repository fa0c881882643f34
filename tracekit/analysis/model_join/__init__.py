"""The join of a model and its plan with a recording: what was anticipated against what was observed."""
