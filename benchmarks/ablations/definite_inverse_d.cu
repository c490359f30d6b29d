#include "ablations/definite_inverse.cuh"

template std::vector<bench::Trial<double>> bench::definite_inverse_trials(int);
