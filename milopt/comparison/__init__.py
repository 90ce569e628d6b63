"""Tables that compare models and solvers on one data set, or solvers on one program."""
