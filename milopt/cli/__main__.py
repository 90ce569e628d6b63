"""Run the command line as `python -m milopt.cli`, if the script `milopt` is not on the path."""

from milopt.cli import main

main()
