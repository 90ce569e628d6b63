"""Looking at programs: summaries, files, pictures, and other modelling languages."""
