"""
Margins of bags
===============

The margin of a bag is its score times its label. A support vector machine bounds the smallest margins; a method
that optimises the distribution of the margins, such as :class:`~milopt.models.ODM`, has a steep curve around its
mean.
"""

from milopt.data import toy_bags
from milopt.display import MarginsDisplay
from milopt.models import ODM, SetKernelSVM

data = toy_bags("clusters", bags=40)
models = {model.__name__: model(solver="clarabel").fit(data.bags, data.labels) for model in (SetKernelSVM, ODM)}
MarginsDisplay.from_estimators(models, data.bags, data.labels)
