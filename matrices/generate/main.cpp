// Writes the generated model problems as Matrix Market files: blockjacobi-generate KIND FILE [options].
//
// sample run: blockjacobi-generate stencil poisson.mtx.gz --grid 64 64 64
// sample run: blockjacobi-generate elasticity beam.mtx --elements 16 4 4 --contrast 100

#include "matrices/generate/options.hpp"

#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>

int main(int argc, char** argv) {
  const auto fail = [](const auto&... words) {
    std::cerr << "blockjacobi-generate: ";
    (std::cerr << ... << words) << '\n';
    return 2;
  };
  try {
    const generate::Request request = generate::parse_options(argc, argv);
    if (request.work) request.work();
    return request.status;
  } catch (const std::bad_alloc&) {
    return fail("out of memory: there is no room for what '", generate::command_line(argc, argv), "' asks for");
  } catch (const std::length_error&) {  // of a vector that no machine holds
    return fail("out of memory: there is no room for what '", generate::command_line(argc, argv), "' asks for");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
