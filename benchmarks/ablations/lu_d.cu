#include "ablations/lu_designs.cuh"

template std::vector<bench::Design<double>> bench::lu_designs(int);
