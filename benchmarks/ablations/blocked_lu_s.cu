#include "ablations/blocked_lu_designs.cuh"

template std::vector<bench::Trial<float>> bench::blocked_lu_trials(int);
