"""The demonstration behind ``whichdo demo``: the infection example, from a survey that misleads to a decision."""
