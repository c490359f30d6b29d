# Adds to CMAKE_PREFIX_PATH where pip installs cmeel-eigen and cmeel-fmt, which pyproject.toml asks for: the folder
# cmeel.prefix beside the other packages.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "import os, sys
print(';'.join(p for p in (os.path.join(folder, 'cmeel.prefix') for folder in sys.path) if os.path.isdir(p)))"
  OUTPUT_STRIP_TRAILING_WHITESPACE
  OUTPUT_VARIABLE cmeel_prefixes COMMAND_ERROR_IS_FATAL ANY)
list(APPEND CMAKE_PREFIX_PATH ${cmeel_prefixes})
