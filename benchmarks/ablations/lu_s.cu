#include "ablations/lu_designs.cuh"

template std::vector<bench::Design<float>> bench::lu_designs(int);
