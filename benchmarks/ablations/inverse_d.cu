#include "ablations/inverse_designs.cuh"

template std::vector<bench::Design<double>> bench::inverse_designs(int);
