# tessera_layer(NAME SOURCES a.cpp ... [USES layer ...] [PRIVATE lib ...])
# One static library per layer; third-party libraries stay private to it.
function(tessera_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(tessera_${name} STATIC ${arg_SOURCES})
  target_include_directories(tessera_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  list(TRANSFORM arg_USES PREPEND tessera_)
  target_link_libraries(tessera_${name} PUBLIC ${arg_USES} fmt::fmt PRIVATE ${arg_PRIVATE})
endfunction()

# tessera_test(NAME LABEL label SOURCES a.cpp ... USES layer ... [PRIVATE lib ...])
# A GoogleTest binary; CTest runs each TEST in its own process. Files are found from the source tree.
function(tessera_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;USES;PRIVATE" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  list(TRANSFORM arg_USES PREPEND tessera_)
  target_link_libraries(${name} PRIVATE ${arg_USES} ${arg_PRIVATE} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE TESSERA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(TESSERA_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)  # compiles in half the time, and tests themselves do little
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT 600)
endfunction()
