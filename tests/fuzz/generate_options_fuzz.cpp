// Lines as the words of blockjacobi-generate's command line. What they ask for is also done where all numbers have one
// digit, so that it is small, or so many that it must be refused before anything is allocated.
#include "expect.hpp"
#include "scratch_file.hpp"
#include "words.hpp"

#include "matrices/generate/options.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <cctype>

using namespace blockjacobi;

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether no word has two digits in a row, an exponent, or so many numbers that their product is large.
bool is_small(const std::vector<std::string>& words) {
  std::size_t digits = 0;
  for (const std::string& word : words) {
    for (std::size_t k = 0; k < word.size(); ++k) {
      if (!is_digit(word[k])) continue;
      ++digits;
      if (k + 1 < word.size() && (is_digit(word[k + 1]) || word[k + 1] == 'e' || word[k + 1] == 'E')) return false;
    }
  }
  return digits <= 5;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  static const fuzz::ScratchFolder folder;
  std::filesystem::current_path(folder.path());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  fuzz::Words words("blockjacobi-generate", fuzz::text_of(data, size));
  const auto request = generate::parse_options(words.count(), words.pointers());
  FUZZ_EXPECT(request.work != nullptr || request.status == 0 || request.status == 2);
  // Names that lead out of the folder are not written to.
  const bool inside = std::ranges::none_of(words.words(), [](const auto& w) { return w.find('/') != w.npos; });
  if (!request.work || !inside || !is_small(words.words())) return 0;
  try {
    request.work();
  } catch (const Error& error) {
    FUZZ_EXPECT(*error.what() != '\0');
  }
  return 0;
}
