# Test and benchmark programs carry the hash of what they are made of (.ci/sources_sha256.py), so that a record of what
# they found says of which code. Only in our own build with a static library, where the linker says what it took.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)

function(blockjacobi_build_hash target)
  get_target_property(library_type blockjacobi TYPE)
  if(NOT PROJECT_IS_TOP_LEVEL OR NOT Python3_FOUND OR NOT CMAKE_OBJCOPY OR NOT library_type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  target_link_options(${target} PRIVATE "LINKER:-Map=${map}")
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/cmake/build_hash.py" $<TARGET_FILE:${target}> "${map}"
            "${PROJECT_BINARY_DIR}/compile_commands.json" "${CMAKE_OBJCOPY}"
    VERBATIM)
endfunction()
