// Bytes as a packed Matrix Market file: damaged wrappers, members back to back, and few bytes that unpack to many.
#include "expect.hpp"
#include "packed.hpp"
#include "scratch_file.hpp"

#include <blockjacobi/matrix_market.hpp>

#include <cstring>

using namespace blockjacobi;

extern "C" std::size_t LLVMFuzzerMutate(unsigned char* data, std::size_t size, std::size_t max_size);

namespace {

std::size_t replaced(unsigned char* data, std::size_t size, std::size_t max_size, const std::string& bytes) {
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

/// The text with its last line many times more.
std::string swollen(std::string text, unsigned seed) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t start = end == std::string::npos ? 0 : text.find_last_of('\n', end) + 1;
  const std::string line = text.substr(start) + "\n";
  for (unsigned k = 0; k < (1U << (seed % 20U)) && text.size() < (std::size_t{1} << 25U); ++k) text += line;
  return text;
}

}  // namespace

/// Blind changes of packed bytes hardly ever get past the checksum: mostly the text is changed.
extern "C" std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text = fuzz::unpacked(fuzz::text_of(data, size));
  if (seed % 64 == 1) return replaced(data, size, max_size, fuzz::packed(swollen(std::move(text), seed / 64)));
  const std::size_t length = text.size();
  text.resize(length + 4096);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<unsigned char*>(text.data()), length, text.size()));
  const std::string packed = fuzz::packed(text);
  if (seed % 8 == 1) return replaced(data, size, max_size, packed + packed);
  return replaced(data, size, max_size, packed);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const fuzz::ScratchFolder folder;
  const auto path = folder.write("a.mtx.gz", fuzz::text_of(data, size));
  constexpr MatrixMarketLimits limits{.memory = std::size_t{1} << 22, .text_per_entry = 32};
  try {
    const auto a = read_matrix_market<double>(path, limits);
    const std::size_t entries = static_cast<std::size_t>(a.nnz()) * (sizeof(double) + sizeof(index_t));
    // A symmetric file stands for twice the entries that it holds.
    FUZZ_EXPECT(entries + static_cast<std::size_t>(a.rows()) * sizeof(offset_t) <= 2 * limits.memory);
    validate(a.view());
  } catch (const ParseError& error) {
    FUZZ_EXPECT(error.line() >= 1);
  }
  return 0;
}
