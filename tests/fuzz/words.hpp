#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blockjacobi::fuzz {

/// The lines of a text as the words of a command line, up to a null character.
class Words {
 public:
  Words(const char* program, std::string_view text) : words_{program} {
    text = text.substr(0, text.find('\0'));
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      words_.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }

  int count() const { return static_cast<int>(words_.size()); }
  char** pointers() { return pointers_.data(); }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

}  // namespace blockjacobi::fuzz
