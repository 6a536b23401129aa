"""What the learners share: features, labels, predictors, model files, training."""
