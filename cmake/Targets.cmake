# What the targets of this project have in common.

# Warnings of this project's own code, through g++ and through nvcc.
function(blockjacobi_warnings target)
  set(warnings -Wall -Wextra -Wshadow)
  # why: GCC 12 warns of overlaps that cannot be where a literal is added to a std::string (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
    list(APPEND warnings -Wno-restrict)
  endif()
  if(BLOCKJACOBI_WERROR)
    list(APPEND warnings -Werror)
  endif()
  # Which names are a source's own is asked where each is a compilation of its own.
  set(of_one_source -Wsign-conversion)
  if(CMAKE_UNITY_BUILD)
    list(APPEND of_one_source -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  # why: in what nvcc hands to g++, -Wsign-conversion strikes at every array whose size is a template parameter.
  list(JOIN warnings "," host_warnings)
  target_compile_options(
    ${target}
    PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings};${of_one_source}>"
            "$<$<COMPILE_LANGUAGE:C>:${warnings};-pedantic>"
            "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${host_warnings}>"
            "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${BLOCKJACOBI_WERROR}>>:SHELL:-Werror all-warnings>")
endfunction()

# Compiles against a header-only library without linking to its target, so that it does not become a dependency of the
# installed package.
function(blockjacobi_use_headers target library)
  target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
endfunction()
