# Resolves BLOCKJACOBI_HOST_ISAS: the levels of x86-64 (out of v2, v3, v4) that kernels of the host are compiled for
# beside the rest of the library, which runs on every machine; a host backend takes the best of them that its machine has.
# The default is v3 where the tools can do it, and none where the flags ask for instructions or instrumentation. Each
# level is 4.6 MB of the library; v4 gains over v3 from order 32 on alone. For a build that stays on its machine, as that
# of pip install, local is v3 without the baseline, or the baseline alone where the machine lacks v3.
#
# why the joining: what such objects instantiate of the standard library and of Eigen has the same names as everywhere,
# and of several definitions a linker takes any for all the program. So the objects of a level are joined into one in
# which nothing but the function that makes its kernels is visible.
find_program(BLOCKJACOBI_LD NAMES ld.bfd ld "${CMAKE_LINKER}" DOC "GNU ld, which joins the objects of a level")
mark_as_advanced(BLOCKJACOBI_LD)

function(blockjacobi_cannot_have_isas reason)
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  execute_process(COMMAND "${BLOCKJACOBI_LD}" -V OUTPUT_VARIABLE ld ERROR_QUIET)
  set(why "")
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$"
     OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(why "the target is no Linux on x86-64")
  elseif(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    set(why "the compiler is neither g++ nor clang++")
  elseif(is_multi_config)
    set(why "the generator has several configurations")
  elseif(NOT CMAKE_OBJCOPY OR NOT ld MATCHES "^GNU ld.* elf_x86_64")
    set(why "there is no objcopy, or no GNU ld for x86-64")
  endif()
  set(${reason} "${why}" PARENT_SCOPE)
endfunction()

blockjacobi_cannot_have_isas(isas_reason)
set(isas_default "v3")
if(DEFINED ENV{BLOCKJACOBI_HOST_ISAS})
  set(isas_default "$ENV{BLOCKJACOBI_HOST_ISAS}") # of `make test`, and of tests that build the library once more
endif()
if(isas_reason OR CMAKE_CXX_FLAGS MATCHES "-march=|-fsanitize|--coverage|-fprofile|-ftest-coverage")
  set(isas_default "")
endif()
set(BLOCKJACOBI_HOST_ISAS "${isas_default}" CACHE STRING "Levels of x86-64 with kernels of their own: v2, v3, v4; local")
set(BLOCKJACOBI_HOST_LEVELS baseline)
if(BLOCKJACOBI_HOST_ISAS STREQUAL "local")
  set(BLOCKJACOBI_HOST_ISAS "${isas_default}")
  if(isas_default STREQUAL "v3")
    include(CheckCXXSourceRuns)
    check_cxx_source_runs(
      "int main() { return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") && __builtin_cpu_supports(\"bmi2\") ? 0 : 1; }"
      BLOCKJACOBI_MACHINE_HAS_V3)
    if(BLOCKJACOBI_MACHINE_HAS_V3)
      set(BLOCKJACOBI_HOST_LEVELS "")
    else()
      set(BLOCKJACOBI_HOST_ISAS "")
    endif()
  endif()
endif()
foreach(isa IN LISTS BLOCKJACOBI_HOST_ISAS)
  if(NOT isa MATCHES "^v[234]$")
    message(FATAL_ERROR "BLOCKJACOBI_HOST_ISAS has \"${isa}\", must be a list of v2, v3 and v4, or empty")
  endif()
endforeach()
if(BLOCKJACOBI_HOST_ISAS AND isas_reason)
  message(FATAL_ERROR "BLOCKJACOBI_HOST_ISAS=${BLOCKJACOBI_HOST_ISAS}: ${isas_reason}")
endif()
list(REMOVE_DUPLICATES BLOCKJACOBI_HOST_ISAS)
list(APPEND BLOCKJACOBI_HOST_LEVELS ${BLOCKJACOBI_HOST_ISAS})
list(JOIN BLOCKJACOBI_HOST_LEVELS ", " isas_text)
message(STATUS "blockjacobi: kernels of the host for ${isas_text} of x86-64")

# Adds to a target one object with the kernels of a level, of an object library that has their sources.
function(blockjacobi_add_host_isa target isa objects)
  target_compile_options(
    ${objects}
    PRIVATE -march=x86-64-${isa}
            # What is symmetric stays so, and x conj(x) real: a product of complex numbers is not, with one of its two
            # products rounded. Eigen's products fuse all the same.
            -ffp-contract=off
            -fno-lto
            # unlike all else these symbols cannot be made local
            "$<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>")
  if(isa STREQUAL "v4" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # why: GCC 12 warns of its own headers (its bug 105593).
    target_compile_options(${objects} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  set(joined "${CMAKE_CURRENT_BINARY_DIR}/host_${isa}.o")
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/join_isa.ld")
  add_custom_command(
    OUTPUT "${joined}"
    COMMAND "${BLOCKJACOBI_LD}" -r -d --force-group-allocation -T "${script}" -o "${joined}"
            "$<TARGET_OBJECTS:${objects}>"
    COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=_ZN11blockjacobi6detail15host_kernels_${isa}Ei "${joined}"
    DEPENDS "$<TARGET_OBJECTS:${objects}>" "${script}"
    COMMENT "Joining the kernels of the host for x86-64-${isa}"
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties("${joined}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE "${joined}")
  # For who makes another library of the same objects.
  set_property(TARGET ${target} APPEND PROPERTY BLOCKJACOBI_HOST_ISA_OBJECTS "${joined}")
endfunction()
