"""milopt's own algorithms, one folder per algorithm; `solver` selects among them."""
