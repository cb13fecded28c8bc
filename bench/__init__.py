"""Measurements with a goal each. Ratios are taken within one run, since machines differ and are noisy."""
