#include "ablations/blocked_inverse_designs.cuh"

template std::vector<bench::Trial<double>> bench::blocked_inverse_trials();
