"""HiGHS: linear, convex quadratic and mixed-integer linear programs."""
