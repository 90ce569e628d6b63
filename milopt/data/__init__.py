"""Data sets: the embedded ones, data files, data frames, and time series as bags of windows."""

from milopt.data.catalogue import KnownDataSet as KnownDataSet
from milopt.data.catalogue import known_data_sets as known_data_sets
from milopt.data.data_set import DataSet as DataSet
from milopt.data.frames import from_frame as from_frame
from milopt.data.loading import load_data as load_data
from milopt.data.series import from_series as from_series
from milopt.data.toys import toy_bags as toy_bags
