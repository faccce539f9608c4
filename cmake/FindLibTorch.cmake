# LibTorch::LibTorch from a torch wheel or a LibTorch folder, for CPU builds torch_cpu and c10 alone.
#
# The project's own module, since the wheel's config poisons find_package(Protobuf) and asks for the
# whole CUDA tool chain. Looks in LIBTORCH (a folder with include/ and lib/), then in the torch
# package of Python3. Exactly AFFINE_TORCH_VERSION is accepted.
set(AFFINE_TORCH_VERSION 2.11.0)
set(LIBTORCH "$ENV{LIBTORCH}" CACHE PATH "Folder with LibTorch's include and lib")

if(NOT LIBTORCH)
  find_program(AFFINE_PYTHON NAMES python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin NO_CMAKE_SYSTEM_PATH)
  find_program(AFFINE_PYTHON NAMES python3)
  execute_process(
    COMMAND ${AFFINE_PYTHON} -c "import importlib.util as u; print(*u.find_spec('torch').submodule_search_locations)"
    OUTPUT_VARIABLE LIBTORCH_FOUND OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(LIBTORCH "${LIBTORCH_FOUND}" CACHE PATH "Folder with LibTorch's include and lib" FORCE)
endif()

find_path(LIBTORCH_INCLUDE_DIR torch/headeronly/version.h HINTS ${LIBTORCH}/include NO_DEFAULT_PATH)
find_library(LIBTORCH_CPU_LIBRARY torch_cpu HINTS ${LIBTORCH}/lib NO_DEFAULT_PATH)
find_library(LIBTORCH_C10_LIBRARY c10 HINTS ${LIBTORCH}/lib NO_DEFAULT_PATH)
if(LIBTORCH_INCLUDE_DIR)
  file(STRINGS ${LIBTORCH_INCLUDE_DIR}/torch/headeronly/version.h version_lines
    REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" LibTorch_VERSION "${version_lines}")
  string(REPLACE ";" "." LibTorch_VERSION "${LibTorch_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "deploy/serve.sh installs it, or name a torch ${AFFINE_TORCH_VERSION} folder with LIBTORCH=")
if(LibTorch_FOUND AND NOT LibTorch_VERSION STREQUAL AFFINE_TORCH_VERSION)
  message(FATAL_ERROR "LIBTORCH=${LIBTORCH} is torch ${LibTorch_VERSION}; needed is ${AFFINE_TORCH_VERSION}")
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    ${LIBTORCH_INCLUDE_DIR} ${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::LibTorch INTERFACE ${LIBTORCH_CPU_LIBRARY} ${LIBTORCH_C10_LIBRARY})
  # libtorch_cpu.so of the CUDA wheel needs cupti and cudart, which lie in packages beside it.
  file(GLOB LIBTORCH_NVIDIA_DIRS ${LIBTORCH}/../nvidia/*/lib)
  set(LIBTORCH_LIBRARY_DIRS ${LIBTORCH}/lib ${LIBTORCH_NVIDIA_DIRS})
  foreach(dir IN LISTS LIBTORCH_LIBRARY_DIRS)
    target_link_options(LibTorch::LibTorch INTERFACE "LINKER:-rpath,${dir}" "LINKER:-rpath-link,${dir}")
  endforeach()
endif()
