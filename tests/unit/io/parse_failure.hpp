#pragma once

#include <blockjacobi/error.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace blockjacobi::test {

/// Runs `read` and requires a ParseError for `path` at `line` whose message holds `text`.
template <class Read>
void expect_parse_error(const std::filesystem::path& path, offset_t line, const std::string& text, Read&& read) {
  try {
    read();
  } catch (const ParseError& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.path(), path.string());
    EXPECT_EQ(error.line(), line) << what;
    EXPECT_NE(what.find(text), std::string::npos) << "no '" << text << "' in: " << what;
    const std::string place = line > 0 ? path.string() + ":" + std::to_string(line) + ": " : path.string() + ": ";
    EXPECT_EQ(what.substr(0, place.size()), place);
    return;
  }
  ADD_FAILURE() << "no ParseError, expected: " << text;
}

}  // namespace blockjacobi::test
