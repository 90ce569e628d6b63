"""Models in scikit-learn: cross-validation, grid search over solver and hyper-parameters, pipeline, calibration.

python examples/scikit_learn.py
"""

from __future__ import annotations

from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from milopt import RBF, InstanceTransformer, load_data
from milopt.models import SetKernelSVM

data = load_data("musk1")
# scikit-learn only needs a list of arrays (one array per bag).
bags, labels = list(data.bags), data.labels
folds = StratifiedKFold(5, shuffle=True, random_state=0)

print("five folds:", cross_val_score(SetKernelSVM(C=10.0), bags, labels, cv=folds).round(3))

search = GridSearchCV(
    SetKernelSVM(),
    {"C": [1.0, 100.0], "kernel": [RBF(s="median"), RBF(s="4/median")], "solver": ["clarabel", "libsvm"]},
    cv=folds,
)
search.fit(bags, labels)
print("best of the grid:", search.best_params_, round(search.best_score_, 3))

train, test, y_train, y_test = train_test_split(bags, labels, stratify=labels, random_state=0)
scaled = make_pipeline(InstanceTransformer(StandardScaler()), SetKernelSVM(C=10.0, scale="none"))
print("scaler in a pipeline:", round(scaled.fit(train, y_train).score(test, y_test), 3))

calibrated = CalibratedClassifierCV(SetKernelSVM(C=10.0), cv=3).fit(train, y_train)
print("probabilities of three bags:", calibrated.predict_proba(test[:3])[:, 1].round(3))

model = SetKernelSVM(C=10.0).fit(train, y_train)
print(model.report())
print(model.explain(test[0]))
