"""Variables, expressions, constraints and programs."""
