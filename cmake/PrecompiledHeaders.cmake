# Precompiled headers for the sanitizer builds, where reading headers is more than half of a compilation. Other builds
# have none, and compile all that these do: so no file comes to lean on one, and what tests/rooms.py reads of a build's
# dependencies stays what the files themselves include.
#
# affine_precompile(NAME headers|test_headers): gives the target NAME what many files include, and no file of this
# project. A folder that sets AFFINE_PRECOMPILED_SET to `http` gets Boost's as well.
set(AFFINE_STANDARD_HEADERS
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque> <filesystem> <fstream>
  <functional> <future> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream>
  <stdexcept> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <nlohmann/json.hpp>)
set(AFFINE_HTTP_HEADERS
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/read.hpp>
  <boost/asio/steady_timer.hpp> <boost/asio/strand.hpp> <boost/asio/write.hpp> <boost/beast/core.hpp>
  <boost/beast/http.hpp>)

# Whose header is used must be compiled as it was: libraries with -fPIC, programs with -fPIE, and with the same macros.
function(affine_add_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;DEFINITIONS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Nothing: the precompiled header is all.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_compile_options(${name} PRIVATE ${AFFINE_WARNINGS} ${ARG_OPTIONS})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

if(AFFINE_SANITIZE)
  set(test_headers <gtest/gtest.h> <gmock/gmock.h>)
  set(as_test OPTIONS -fPIE DEFINITIONS GTEST_HAS_PTHREAD=1)
  affine_add_precompiled(affine_headers HEADERS ${AFFINE_STANDARD_HEADERS})
  affine_add_precompiled(affine_test_headers HEADERS ${AFFINE_STANDARD_HEADERS} ${test_headers} ${as_test})
  affine_add_precompiled(affine_http_headers
    HEADERS ${AFFINE_STANDARD_HEADERS} ${AFFINE_HTTP_HEADERS} DEFINITIONS BOOST_ALL_NO_LIB)
  affine_add_precompiled(affine_http_test_headers
    HEADERS ${AFFINE_STANDARD_HEADERS} ${AFFINE_HTTP_HEADERS} ${test_headers} ${as_test} BOOST_ALL_NO_LIB)
endif()

function(affine_precompile name kind)
  if(NOT AFFINE_SANITIZE)
    return()
  endif()
  set(from affine)
  if(AFFINE_PRECOMPILED_SET)
    set(from affine_${AFFINE_PRECOMPILED_SET})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${from}_${kind})
endfunction()
