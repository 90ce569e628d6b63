# What type checkers read in place of `__init__.py`, which imports each name when it is first used.

from milopt.models.box_svm import BoxCountingSVM as BoxCountingSVM
from milopt.models.gmil1 import GMIL1 as GMIL1
from milopt.models.ls_svm import LSSVM as LSSVM
from milopt.models.mi_svm import MISVM as MISVM
from milopt.models.miles import MILES as MILES
from milopt.models.miordm import MIORDM as MIORDM
from milopt.models.mirsvm import MIRSVM as MIRSVM
from milopt.models.odm import ODM as ODM
from milopt.models.safe import SAFE as SAFE
from milopt.models.set_kernel_svm import SetKernelSVM as SetKernelSVM
from milopt.models.shapelet_boost import ShapeletBoost as ShapeletBoost
from milopt.models.soft_ksc import SoftKSC as SoftKSC
from milopt.models.spectral_clustering import SpectralBagClustering as SpectralBagClustering
