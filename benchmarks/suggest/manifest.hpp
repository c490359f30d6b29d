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
  std::filesystem::path folder;
  std::string name;
  long rows = 0, entries = 0;
  bool definite = false;  ///< positive (semi)definite: solved with CG, all others with GMRES(30)
};

/// Those of at least so many rows and at most so many entries; `only` names some unless it is empty.
inline std::vector<ManifestRow> read_manifest(const std::filesystem::path& folder, long least_rows, long most_entries,
                                              const std::vector<std::string>& only) {
  const std::filesystem::path path = folder / "MANIFEST.tsv";
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
  const std::size_t name = column("name"), rows = column("n"), definite = column("posdef"),
                    entries = column(std::ranges::find(names, "nnz") == names.end() ? "nnz_expanded" : "nnz");
  std::vector<ManifestRow> systems;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() <= std::max({name, rows, entries, definite})) continue;
    const ManifestRow row{folder, fields[name], std::stol(fields[rows]), std::stol(fields[entries]),
                          fields[definite] == "yes" || fields[definite] == "no(PSD)"};
    if (row.rows < least_rows || row.entries > most_entries) continue;
    if (only.empty() || std::ranges::find(only, row.name) != only.end()) systems.push_back(row);
  }
  return systems;
}

/// Of all folders, smallest first.
inline std::vector<ManifestRow> read_manifests(const std::vector<std::filesystem::path>& folders, long least_rows,
                                               long most_entries, const std::vector<std::string>& only) {
  std::vector<ManifestRow> systems;
  for (const std::filesystem::path& folder : folders)
    for (ManifestRow& row : read_manifest(folder, least_rows, most_entries, only)) systems.push_back(std::move(row));
  std::ranges::stable_sort(systems, {}, &ManifestRow::entries);
  return systems;
}

}  // namespace bench
