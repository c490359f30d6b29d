#include "ablations/blocked_lu_designs.cuh"

template std::vector<bench::Trial<double>> bench::blocked_lu_trials(int);
