# Where sources lie that CMake makes. Not below this project's own part of a build that takes it in: seen from the folder
# in which compilers run they have the same names in every build, by which the compiler's cache knows them.
set(BLOCKJACOBI_MADE_SOURCES "${CMAKE_BINARY_DIR}/blockjacobi_sources")

# Adds to a target a source for each template and scalar, with its type in place of @SCALAR@: of FOLDER/NAME.cu.in
# FOLDER/NAME_s.cu and so on, of FOLDER/launch.cu.in FOLDER/FOLDER_s.cu, so that no two objects have the same name.
#   blockjacobi_instantiate(TARGET SCALARS letter=type... TEMPLATES file...)
function(blockjacobi_instantiate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCALARS;TEMPLATES")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(template IN LISTS arg_TEMPLATES)
    foreach(scalar IN LISTS arg_SCALARS)
      string(REGEX MATCH "^([a-z])=(.+)$" _ "${scalar}")
      set(letter "${CMAKE_MATCH_1}")
      set(SCALAR "${CMAKE_MATCH_2}")
      string(REGEX REPLACE "([a-z]+)/launch\\." "\\1/\\1." source "${template}")
      string(REGEX REPLACE "(\\.[a-z]+)\\.in$" "_${letter}\\1" source "${source}")
      string(PREPEND source "${BLOCKJACOBI_MADE_SOURCES}/${folder}/")
      configure_file("${template}" "${source}" @ONLY)
      target_sources(${target} PRIVATE "${source}")
      # Each takes long, and a unity build would compile one behind the other.
      set_property(
        SOURCE "${source}"
        TARGET_DIRECTORY ${target}
        PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
  endforeach()
endfunction()
