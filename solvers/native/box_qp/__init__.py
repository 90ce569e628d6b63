"""Box-constrained quadratic programs: coordinate descent, principal pivoting and semismooth Newton."""
