#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace bench {

/// The numbers of a list like 1-8,16.
inline std::vector<int> parse_orders(const std::string& text) {
  std::vector<int> orders;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto dash = part.find('-');
    const int first = std::stoi(part), last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int n = first; n <= last; ++n) orders.push_back(n);
  }
  return orders;
}

}  // namespace bench
