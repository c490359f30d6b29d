// Lines as the words of blockjacobi-solve's command line: they are refused with a message, or the options are within
// the ranges that the program relies on.
#include "expect.hpp"
#include "scratch_file.hpp"
#include "words.hpp"

#include "solve/options.hpp"
#include "solve/usage_error.hpp"

#include <cmath>

using namespace blockjacobi;

namespace {

/// A name that the options may use, in the folder where the fuzzer runs.
const fuzz::ScratchFolder& prepared_folder() {
  static const fuzz::ScratchFolder folder;
  folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
  folder.write("b", "0 1\n");
  std::filesystem::create_directories(folder.path() / "d");
  std::filesystem::current_path(folder.path());
  return folder;
}

bool is_file(const std::filesystem::path& path) { return std::filesystem::is_regular_file(path); }

void check(const solve::Options& o) {
  FUZZ_EXPECT(is_file(o.matrix));
  FUZZ_EXPECT(o.block_size >= 1 && o.block_size <= max_block_size);
  FUZZ_EXPECT(o.block_tolerance >= 0.0 && o.block_tolerance < 1.0);
  FUZZ_EXPECT(o.coupling >= 0.0);
  FUZZ_EXPECT(o.threads >= 0);
  FUZZ_EXPECT(o.accuracy > 0.0);
  FUZZ_EXPECT(o.rtol > 0.0 && o.rtol < 1.0);
  FUZZ_EXPECT(o.max_iterations >= 1 && o.restart >= 1);
  FUZZ_EXPECT(o.relaxation > 0.0 && std::isfinite(o.relaxation));
  const bool from_file = o.blocks == solve::Blocks::file || o.blocks == solve::Blocks::labels;
  FUZZ_EXPECT(from_file == !o.block_file.empty() && (!from_file || is_file(o.block_file)));
  FUZZ_EXPECT(o.coarse != solve::Coarse::vectors || !o.coarse_file.empty());
  const bool takes_vectors = o.coarse == solve::Coarse::vectors || o.coarse == solve::Coarse::multigrid;
  FUZZ_EXPECT(o.coarse_file.empty() || (takes_vectors && is_file(o.coarse_file)));
  FUZZ_EXPECT(o.coarse != solve::Coarse::multigrid || o.coarse_size == 0);
  FUZZ_EXPECT(o.coarse_size >= 0 && o.coarse_size <= max_coarse_size);
  FUZZ_EXPECT(!o.unknowns || (*o.unknowns >= 1 && *o.unknowns <= max_block_size));
  FUZZ_EXPECT(o.max_seconds >= 0.0 && std::isfinite(o.max_seconds));
  FUZZ_EXPECT((o.rhs == solve::Rhs::file) == !o.rhs_file.empty());
  for (const auto* output : {&o.json_file, &o.history_file, &o.plot_file, &o.solution_file}) {
    if (output->empty()) continue;
    for (const auto* input : {&o.matrix, &o.block_file, &o.coarse_file, &o.rhs_file, &o.x0_file})
      if (!input->empty() && std::filesystem::exists(*output))
        FUZZ_EXPECT(!std::filesystem::equivalent(*output, *input));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  prepared_folder();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  fuzz::Words words("blockjacobi-solve", fuzz::text_of(data, size));
  try {
    const auto options = solve::parse_options(words.count(), words.pointers());
    if (options) check(*options);
  } catch (const solve::UsageError& error) {
    FUZZ_EXPECT(*error.what() != '\0');
  }
  return 0;
}
