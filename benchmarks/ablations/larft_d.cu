#include "ablations/larft.cuh"

template std::vector<bench::Trial<double>> bench::larft_trials();
