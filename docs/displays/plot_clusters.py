"""
Instances in the plane
======================

Each instance is coloured by the sign of its score. If the data have two features, the curve where the score is 0 is
drawn too. In this data set both classes span both clusters of instances, so the boundary must turn between them.
"""

from milopt.data import toy_bags
from milopt.display import InstanceClustersDisplay
from milopt.models import SAFE

data = toy_bags("spanning", bags=60)
model = SAFE(solver="clarabel").fit(data.bags, data.labels)
InstanceClustersDisplay.from_estimator(model, data.bags)
