#include "unit/kernels/designs_table.hpp"

#include <iostream>

// print_designs > docs/kernels/designs.md
int main() { std::cout << blockjacobi::test::designs_table(); }
