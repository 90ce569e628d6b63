"""Algorithms over programs: direct, convex-concave, representatives, exact."""
