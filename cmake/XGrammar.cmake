# XGrammar::XGrammar: the C++ core of XGrammar (Apache-2.0), static, from its source package of PyPI, with a
# limit on its work patched in (include/xgrammar/work_limit.h). Its Python bindings are left out.
#
# The archive is XGRAMMAR_ARCHIVE, or where deploy/setup.sh puts it: sources/ of the Python environment. No
# other than AFFINE_XGRAMMAR_SHA256 is accepted.
include(FetchContent)
set(AFFINE_XGRAMMAR_VERSION 0.2.9)
set(AFFINE_XGRAMMAR_SHA256 87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90)

find_file(XGRAMMAR_ARCHIVE xgrammar-${AFFINE_XGRAMMAR_VERSION}.tar.gz
  HINTS $ENV{AFFINE_VENV}/sources ${PROJECT_SOURCE_DIR}/.venv/sources ${LIBTORCH}/../../../../sources
  NO_DEFAULT_PATH DOC "The source package of XGrammar")
if(NOT XGRAMMAR_ARCHIVE)
  message(FATAL_ERROR "xgrammar-${AFFINE_XGRAMMAR_VERSION}.tar.gz is not there; deploy/serve.sh downloads it, or: "
    "pip download --no-deps --no-binary xgrammar -r deploy/requirements-xgrammar.txt, and name it with "
    "-DXGRAMMAR_ARCHIVE=")
endif()

# Not a project of its own here: the folder named by SOURCE_SUBDIR holds no CMakeLists.txt.
FetchContent_Declare(xgrammar
  URL ${XGRAMMAR_ARCHIVE}
  URL_HASH SHA256=${AFFINE_XGRAMMAR_SHA256}
  PATCH_COMMAND patch -p1 -i ${CMAKE_CURRENT_LIST_DIR}/xgrammar-work-limit.patch
  SOURCE_SUBDIR include)
FetchContent_MakeAvailable(xgrammar)

file(GLOB xgrammar_sources ${xgrammar_SOURCE_DIR}/cpp/*.cc ${xgrammar_SOURCE_DIR}/cpp/support/*.cc
  ${xgrammar_SOURCE_DIR}/cpp/converter_ext/*.cc)
add_library(xgrammar STATIC EXCLUDE_FROM_ALL ${xgrammar_sources})
add_library(XGrammar::XGrammar ALIAS xgrammar)
target_include_directories(xgrammar SYSTEM PUBLIC ${xgrammar_SOURCE_DIR}/include
  ${xgrammar_SOURCE_DIR}/3rdparty/dlpack/include ${xgrammar_SOURCE_DIR}/3rdparty/picojson)
target_compile_definitions(xgrammar PUBLIC XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0
  XGRAMMAR_LOG_CUSTOMIZE=1)
target_compile_options(xgrammar PRIVATE -O2 -w)
target_link_libraries(xgrammar PUBLIC Threads::Threads)
set_target_properties(xgrammar PROPERTIES CXX_STANDARD 17)
