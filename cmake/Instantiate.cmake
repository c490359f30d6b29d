# Adds to a target a source for each template and scalar, with its type in place of @SCALAR@: of FOLDER/NAME.cu.in
# FOLDER/NAME_s.cu and so on, of FOLDER/launch.cu.in FOLDER/FOLDER_s.cu, so that no two objects have the same name.
#   blockjacobi_instantiate(TARGET SCALARS letter=type... TEMPLATES file...)
function(blockjacobi_instantiate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCALARS;TEMPLATES")
  foreach(template IN LISTS arg_TEMPLATES)
    foreach(scalar IN LISTS arg_SCALARS)
      string(REGEX MATCH "^([a-z])=(.+)$" _ "${scalar}")
      set(letter "${CMAKE_MATCH_1}")
      set(SCALAR "${CMAKE_MATCH_2}")
      string(REGEX REPLACE "([a-z]+)/launch\\." "\\1/\\1." source "${template}")
      string(REGEX REPLACE "(\\.[a-z]+)\\.in$" "_${letter}\\1" source "${source}")
      configure_file("${template}" "${CMAKE_CURRENT_BINARY_DIR}/${source}" @ONLY)
      target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${source}")
      # Each takes long, and a unity build would compile one behind the other.
      set_property(
        SOURCE "${CMAKE_CURRENT_BINARY_DIR}/${source}"
        TARGET_DIRECTORY ${target}
        PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
  endforeach()
endfunction()
