"""The simplex method on a dense dictionary, which is kept between solves."""
