#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A line of MANIFEST.tsv.
struct ManifestRow {
  std::string name;
  long rows = 0, entries = 0;
  bool definite = false;  ///< positive (semi)definite: solved with CG, all others with GMRES(30)
};

/// Those of at least so many rows and at most so many entries, smallest first; `only` names some unless it is empty.
inline std::vector<ManifestRow> read_manifest(const std::filesystem::path& path, long least_rows, long most_entries,
                                              const std::vector<std::string>& only) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const auto fields_of = [](const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, '\t');) fields.push_back(field);
    return fields;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = fields_of(line);
  const auto column = [&](const char* name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw std::runtime_error(path.string() + ": there is no column " + name);
    return static_cast<std::size_t>(found - names.begin());
  };
  const std::size_t name = column("name"), rows = column("n"), entries = column("nnz_expanded"),
                    definite = column("posdef");
  std::vector<ManifestRow> systems;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() <= std::max({name, rows, entries, definite})) continue;
    const ManifestRow row{fields[name], std::stol(fields[rows]), std::stol(fields[entries]),
                          fields[definite] == "yes" || fields[definite] == "no(PSD)"};
    if (row.rows < least_rows || row.entries > most_entries) continue;
    if (only.empty() || std::ranges::find(only, row.name) != only.end()) systems.push_back(row);
  }
  std::ranges::stable_sort(systems, {}, &ManifestRow::entries);
  return systems;
}

}  // namespace bench
