"""`python -m milopt.cli`: the command line where the script `milopt` is not on the path."""

from milopt.cli import main

main()
