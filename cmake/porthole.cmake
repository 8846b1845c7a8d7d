# Functions of the build, which hide flags, layering and checks:
#   porthole_library(name SOURCES ... LINKS ... [PRIVATE_LINKS ...])    one folder of src/ as one static library
#   porthole_test(name [SOURCES ...] LINKS ... [LABEL fast|slow])        a GoogleTest program, <name>.cc unless SOURCES
#   porthole_fuzz(name LINKS ...)                                        a libFuzzer target, <name>.cc
# A library is named for its folder: src/store/embedded is store_embedded. What it may include is what it LINKS
# (transitively); tools/check_layers.py refuses anything else.
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
set_property(GLOBAL PROPERTY porthole_layers "")

function(porthole_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC porthole_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE ";" "," links "${ARG_LINKS};${ARG_PRIVATE_LINKS}")
  set_property(GLOBAL APPEND PROPERTY porthole_layers "${name} ${folder} ${links}")
endfunction()

function(porthole_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE porthole_flags ${ARG_LINKS} GTest::gtest GTest::gmock GTest::gtest_main Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
endfunction()

option(PORTHOLE_FUZZ "build fuzz targets with libFuzzer" OFF)
function(porthole_fuzz name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  if(PORTHOLE_FUZZ)
    add_executable(${name} ${name}.cc)
    target_link_libraries(${name} PRIVATE porthole_flags ${ARG_LINKS} Threads::Threads)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  endif()
endfunction()

# Writes what the layer check reads: one line a library, "name folder link,link,...".
function(porthole_finish)
  get_property(layers GLOBAL PROPERTY porthole_layers)
  list(JOIN layers "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/layers.txt "${text}\n")
endfunction()

# `source` embeds `files` (#embed). ccache does not see into embedded files, so their hash becomes part of the command line:
# without it a change of the file alone would bring back the old object.
function(porthole_embeds source)
  set(hashes "")
  foreach(file ${ARGN})
    file(SHA256 ${file} hash)
    string(APPEND hashes ${hash})
  endforeach()
  string(SHA256 hash "${hashes}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS PORTHOLE_EMBEDDED="${hash}")
endfunction()
