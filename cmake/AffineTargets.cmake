# affine_library(NAME SOURCES... [DEPENDS ...] [PRIVATE ...]): one static library of one room.
# affine_test(NAME SOURCES... DEPENDS ... [LABELS core] [ONE_THREAD]): one GoogleTest program, each of its tests known
# to CTest. What is labelled core needs neither torch nor gRPC: the target core_tests builds it all, and
# sanitizers run it. ONE_THREAD: the thread sanitizer has nothing to find there and leaves it out.
set(AFFINE_WARNINGS -Wall -Wextra -Wno-unused-parameter -Werror=return-type -Werror=unused-result)

if(AFFINE_SANITIZE)
  # Line tables alone: enough for the sanitizers' reports, and a third faster to build.
  add_compile_options(-fsanitize=${AFFINE_SANITIZE} -fno-omit-frame-pointer -g1 -O1)
  add_link_options(-fsanitize=${AFFINE_SANITIZE})
  if(AFFINE_SANITIZE STREQUAL "address") # checks as calls: slower to run, a quarter faster to build, which is more here
    add_compile_options("SHELL:--param asan-instrumentation-with-call-threshold=0")
  endif()
endif()
include(PrecompiledHeaders)

function(affine_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${AFFINE_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  affine_precompile(${name} headers)
endfunction()

function(affine_test name)
  cmake_parse_arguments(ARG "ONE_THREAD" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${AFFINE_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  affine_precompile(${name} test_headers)
  if(AFFINE_SANITIZE STREQUAL "thread" AND ARG_ONE_THREAD)
    list(REMOVE_ITEM ARG_LABELS core)
  endif()
  if("core" IN_LIST ARG_LABELS)
    if(NOT TARGET core_tests)
      add_custom_target(core_tests)
    endif()
    add_dependencies(core_tests ${name})
  endif()
  set(properties TIMEOUT 300)
  if(ARG_LABELS) # an empty value would be dropped, and the next word taken for it
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
