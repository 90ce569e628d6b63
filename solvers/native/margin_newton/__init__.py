"""Newton's method for margin programs: a squared norm plus a convex loss of the largest violation of each group."""
