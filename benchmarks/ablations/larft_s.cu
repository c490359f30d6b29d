#include "ablations/larft.cuh"

template std::vector<bench::Trial<float>> bench::larft_trials();
