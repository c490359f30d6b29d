#include "ablations/definite_inverse.cuh"

template std::vector<bench::Trial<float>> bench::definite_inverse_trials(int);
