"""The compiled functions of several modules: arrays in, arrays out; numba is loaded when one is first called."""
