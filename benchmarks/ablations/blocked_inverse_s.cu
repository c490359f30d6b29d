#include "ablations/blocked_inverse_designs.cuh"

template std::vector<bench::Trial<float>> bench::blocked_inverse_trials();
