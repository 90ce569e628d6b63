"""From a declared program to what a solver gets: evaluation form, coordinates or dual, standard form, bridges."""
