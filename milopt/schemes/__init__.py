"""Algorithms that solve a problem by convex steps: direct, convex-concave, column generation, exact and others."""
