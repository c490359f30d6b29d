#include "matrices/generate/options.hpp"

#include "matrices/generate/output.hpp"
#include "matrices/generators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace generate {

namespace matrices = blockjacobi::matrices;
using blockjacobi::index_t;
using blockjacobi::InvalidArgument;
using blockjacobi::ScalarType;

namespace {

using Work = std::function<void(const Output&)>;

/// The parser, the options that all kinds have, and the work of the kind that was named.
struct Program {
  CLI::App parser{"Writes generated model problems as Matrix Market files", "blockjacobi-generate"};
  Output output;
  Work work;

  void set_work(CLI::App& kind, Work kind_work) {
    kind.callback([this, kind_work] { work = kind_work; });
  }
};

/// What CLI11 fills while it parses; it must outlive the parsing, so every kind keeps it in a shared_ptr.
struct Grid3 {
  std::vector<index_t> points;

  /// Axes that are not named have one point.
  void to(matrices::GridSize& size) const {
    if (points.empty()) return;
    size = {points[0], points.size() > 1 ? points[1] : 1, points.size() > 2 ? points[2] : 1};
  }
};

template <class Enum>
using Names = std::vector<std::pair<std::string, Enum>>;

/// An option with a word for a value.
template <class Enum>
void add_choice(CLI::App& app, const std::string& option, Enum& value, const Names<Enum>& names,
                const std::string& help) {
  app.add_option_function<std::string>(
      option,
      [option, names, &value](const std::string& word) {
        std::vector<std::string> allowed;
        for (const auto& [name, meaning] : names) {
          if (name == word) {
            value = meaning;
            return;
          }
          allowed.push_back(name);
        }
        throw CLI::ValidationError(option,
                                   fmt::format("there is no value '{}'; allowed: {}", word, fmt::join(allowed, ", ")));
      },
      help);
}

template <class Value>
void add_value(CLI::App& app, const std::string& option, Value& value, const std::string& help) {
  app.add_option(option, value, help)->capture_default_str();
}

/// The options that all kinds have.
void add_output(CLI::App& app, Output& output) {
  app.add_option("file", output.path, "name of the file; packed if it ends in .gz")->required();
  add_choice(app, "--scalar", output.scalar,
             {{"s", ScalarType::s}, {"d", ScalarType::d}, {"c", ScalarType::c}, {"z", ScalarType::z}},
             "s, d, c or z: the scalar in which the values are computed");
}

void add_pattern(CLI::App& app, Output& output) {
  app.add_flag("--pattern", output.pattern, "write the positions only (field pattern)");
}

/// f(T{}) for the scalar asked for.
template <class F>
void with_scalar(ScalarType scalar, F&& f) {
  switch (scalar) {
    case ScalarType::s: return f(float{});
    case ScalarType::d: return f(double{});
    case ScalarType::c: return f(std::complex<float>{});
    case ScalarType::z: return f(std::complex<double>{});
  }
}

template <class F>
void with_real_scalar(const char* kind, ScalarType scalar, F&& f) {
  switch (scalar) {
    case ScalarType::s: return f(float{});
    case ScalarType::d: return f(double{});
    case ScalarType::c:
    case ScalarType::z: break;
  }
  throw InvalidArgument(fmt::format("{}: --scalar is {}, must be s or d", kind, to_char(scalar)));
}

void add_stencil(Program& program) {
  CLI::App& app = *program.parser.add_subcommand("stencil", "diffusion on a grid, 5, 7, 9 or 27 points");
  const auto options = std::make_shared<matrices::StencilOptions>();
  const auto grid = std::make_shared<Grid3>();
  add_output(app, program.output);
  add_pattern(app, program.output);
  app.add_option("--grid", grid->points, "points along x, y, z (default 16 16)")->expected(1, 3);
  add_choice(app, "--shape", options->shape,
             {{"star", matrices::StencilShape::star}, {"box", matrices::StencilShape::box}},
             "star (5 or 7 points) or box (9 or 27)");
  app.add_option("--anisotropy", options->anisotropy, "diffusion along x, y, z (default 1 1 1)");
  add_value(app, "--contrast", options->contrast, "largest over smallest coefficient of the cells");
  add_value(app, "--unknowns", options->unknowns, "unknowns a node");
  add_value(app, "--coupling", options->coupling, "coupling of the unknowns of a node, in [0, 1)");
  add_value(app, "--phase", options->phase, "tangent of half the angle of the complex couplings");
  add_value(app, "--shift", options->shift, "added to the diagonal");
  add_value(app, "--shift-imaginary", options->shift_imaginary, "added to the diagonal, times i");
  add_value(app, "--seed", options->seed, "of the coefficients");
  program.set_work(app, [options, grid](const Output& output) {
    grid->to(options->grid);
    with_scalar(output.scalar, [&]<class T>(T) { write(output, matrices::stencil<T>(*options), options->unknowns); });
  });
}

void add_elasticity(Program& program) {
  CLI::App& app = *program.parser.add_subcommand("elasticity", "3D linear elasticity, 3 displacements a node");
  const auto options = std::make_shared<matrices::ElasticityOptions>();
  const auto elements = std::make_shared<Grid3>();
  add_output(app, program.output);
  add_pattern(app, program.output);
  app.add_option("--elements", elements->points, "hexahedra along x, y, z (default 8 8 8)")->expected(3);
  app.add_option("--spacing", options->spacing, "edge lengths of a hexahedron (default 1 1 1)");
  add_value(app, "--young", options->young, "Young's modulus");
  add_value(app, "--poisson", options->poisson, "Poisson's ratio, in [0, 0.5)");
  add_value(app, "--contrast", options->contrast, "largest over smallest modulus of the elements");
  add_value(app, "--loss-factor", options->loss_factor, "imaginary over real part of the modulus");
  add_value(app, "--seed", options->seed, "of the moduli");
  program.set_work(app, [options, elements](const Output& output) {
    elements->to(options->elements);
    with_scalar(output.scalar, [&]<class T>(T) { write(output, matrices::elasticity<T>(*options), 3); });
  });
}

void add_convection_diffusion(Program& program) {
  CLI::App& app = *program.parser.add_subcommand("convection-diffusion", "upwind differences, nonsymmetric");
  const auto options = std::make_shared<matrices::ConvectionDiffusionOptions>();
  const auto grid = std::make_shared<Grid3>();
  add_output(app, program.output);
  add_pattern(app, program.output);
  app.add_option("--grid", grid->points, "points along x, y, z (default 16 16)")->expected(2, 3);
  add_value(app, "--peclet", options->peclet, "convection over diffusion");
  add_choice(app, "--wind", options->wind,
             {{"recirculating", matrices::Wind::recirculating}, {"constant", matrices::Wind::constant}},
             "recirculating or constant");
  program.set_work(app, [options, grid](const Output& output) {
    grid->to(options->grid);
    with_real_scalar("convection-diffusion", output.scalar,
                     [&]<class T>(T) { write(output, matrices::convection_diffusion<T>(*options)); });
  });
}

void add_reservoir(Program& program) {
  CLI::App& app = *program.parser.add_subcommand("reservoir", "black-oil Jacobian, 3 x 3 blocks");
  const auto options = std::make_shared<matrices::ReservoirOptions>();
  const auto cells = std::make_shared<Grid3>();
  add_output(app, program.output);
  add_pattern(app, program.output);
  app.add_option("--cells", cells->points, "cells along x, y, z (default 10 10 3)")->expected(1, 3);
  add_value(app, "--contrast", options->contrast, "largest over smallest permeability");
  add_value(app, "--vertical-ratio", options->vertical_ratio, "vertical over horizontal permeability");
  add_value(app, "--time-step", options->time_step_days, "days");
  add_value(app, "--wells", options->wells, "wells, one row each");
  app.add_option("--equation-scale", options->equation_scale, "factors of the oil, water, gas rows (default 1 1 1)");
  add_value(app, "--seed", options->seed, "of permeabilities, state and wells");
  program.set_work(app, [options, cells](const Output& output) {
    cells->to(options->cells);
    with_real_scalar("reservoir", output.scalar,
                     [&]<class T>(T) { write(output, matrices::reservoir<T>(*options), options->wells == 0 ? 3 : 1); });
  });
}

void add_saddle_point(Program& program) {
  CLI::App& app =
      *program.parser.add_subcommand("saddle-point", "Stokes flow, symmetric indefinite, no pressure diagonal");
  const auto options = std::make_shared<matrices::SaddlePointOptions>();
  const auto cells = std::make_shared<Grid3>();
  add_output(app, program.output);
  add_pattern(app, program.output);
  app.add_option("--cells", cells->points, "cells along x, y (default 16 16)")->expected(2);
  add_value(app, "--viscosity", options->viscosity, "factor of the Laplacian");
  add_choice(app, "--order", options->order,
             {{"fields", matrices::SaddlePointOrder::fields}, {"cells", matrices::SaddlePointOrder::cells}},
             "fields (all u, all v, all p) or cells (u, v, p of each)");
  program.set_work(app, [options, cells](const Output& output) {
    if (!cells->points.empty()) {
      options->nx = cells->points[0];
      options->ny = cells->points[1];
    }
    with_real_scalar("saddle-point", output.scalar,
                     [&]<class T>(T) { write(output, matrices::saddle_point<T>(*options)); });
  });
}

void add_circuit(Program& program) {
  CLI::App& app =
      *program.parser.add_subcommand("circuit", "random network, missing diagonal entries, a few dense rows");
  const auto options = std::make_shared<matrices::CircuitOptions>();
  add_output(app, program.output);
  add_pattern(app, program.output);
  add_value(app, "--nodes", options->nodes, "nodes");
  add_value(app, "--resistors-per-node", options->resistors_per_node, "at least 1");
  add_value(app, "--contrast", options->contrast, "largest over smallest conductance");
  add_value(app, "--rails", options->rails, "dense rows");
  add_value(app, "--rail-share", options->rail_share, "share of the nodes at a rail, in [0, 1)");
  add_value(app, "--sources", options->sources, "voltage sources");
  add_value(app, "--open-sources", options->open_sources, "sources with a free end");
  add_value(app, "--controlled-sources", options->controlled_sources, "entries without a partner");
  add_value(app, "--frequency", options->frequency, "of the capacitors, complex scalars only");
  add_value(app, "--seed", options->seed, "of the network");
  program.set_work(app, [options](const Output& output) {
    with_scalar(output.scalar, [&]<class T>(T) { write(output, matrices::circuit<T>(*options)); });
  });
}

void add_blocks(Program& program) {
  CLI::App& app =
      *program.parser.add_subcommand("blocks", "dense diagonal blocks with known properties, weakly coupled");
  const auto options = std::make_shared<matrices::BlockFamilyOptions>();
  add_output(app, program.output);
  using Family = matrices::BlockFamily;
  add_choice(app, "--family", options->family,
             {{"random", Family::random},
              {"spd", Family::spd},
              {"permuted-triangular", Family::permuted_triangular},
              {"graded", Family::graded},
              {"zero-row", Family::zero_row},
              {"duplicate-row", Family::duplicate_row},
              {"rank-deficient", Family::rank_deficient}},
             "properties of the blocks");
  app.add_option("--sizes", options->sizes, "orders of the blocks, repeated in turn (default 4)");
  add_value(app, "--blocks", options->blocks, "how many");
  add_value(app, "--condition", options->condition, "condition number of random, spd, graded");
  add_value(app, "--grading", options->grading, "largest over smallest scale of graded");
  add_value(app, "--singular-every", options->singular_every, "each k-th block is singular, the others random");
  add_value(app, "--coupling", options->coupling, "of neighbouring blocks, in [0, 0.5)");
  add_value(app, "--seed", options->seed, "of the blocks");
  program.set_work(app, [options](const Output& output) {
    with_scalar(output.scalar, [&]<class T>(T) { write(output, matrices::block_family<T>(*options)); });
  });
}

void add_array(Program& program) {
  CLI::App& app = *program.parser.add_subcommand("array", "right-hand sides in array format");
  struct Options {
    index_t rows = 1, columns = 1;
    bool ones = false;
    std::uint64_t seed = 1;
  };
  const auto options = std::make_shared<Options>();
  add_output(app, program.output);
  app.add_option("--rows", options->rows, "rows")->required();
  add_value(app, "--columns", options->columns, "columns");
  app.add_flag("--ones", options->ones, "all 1 instead of random in [-1, 1)");
  add_value(app, "--seed", options->seed, "of the random numbers");
  program.set_work(app, [options](const Output& output) {
    with_scalar(output.scalar, [&]<class T>(T) {
      write_array<T>(output, options->rows, options->columns, options->ones, options->seed);
    });
  });
}

}  // namespace

std::string command_line(int argc, char** argv) {
  std::string line = "blockjacobi-generate";
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool is_file = word.find(".mtx") != std::string::npos;
    line += ' ' + (is_file ? std::filesystem::path(word).filename().string() : word);
  }
  return line;
}

Request parse_options(int argc, char** argv) {
  Program program;
  program.parser.require_subcommand(1);
  program.output.comment = command_line(argc, argv);
  add_stencil(program);
  add_elasticity(program);
  add_convection_diffusion(program);
  add_reservoir(program);
  add_saddle_point(program);
  add_circuit(program);
  add_blocks(program);
  add_array(program);
  try {
    program.parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {{}, program.parser.exit(error) == 0 ? 0 : 2};
  }
  return {[work = std::move(program.work), output = std::move(program.output)] { work(output); }};
}

}  // namespace generate
