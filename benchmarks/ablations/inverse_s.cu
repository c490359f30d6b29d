#include "ablations/inverse_designs.cuh"

template std::vector<bench::Design<float>> bench::inverse_designs(int);
