# Functions of the build, which hide flags, layering and checks:
#   porthole_library(name SOURCES ... LINKS ... [PRIVATE_LINKS ...])    one folder of src/ as one library; small ones share
#                                                                        units (units.cmake)
#   porthole_test(name [SOURCES ...] LINKS ... [LABEL fast|slow] [WINDOWS])
#                                                                        a GoogleTest program, <name>.cc unless SOURCES;
#                                                                        WINDOWS: also part of the Windows build, run by Wine
#   porthole_windows_program(name SOURCES ... [LINKS ...])               a small .exe of its own (Windows build only)
#   porthole_windows_dll(name SOURCES ... [DEF file.def] [LINKS ...])    a .dll (Windows build only)
#   porthole_fuzz(name [SOURCES ...] [TARGETS ...] LINKS ...)            a fuzz target, <name>.cc unless SOURCES, or several targets of one
#                                                                        source, which defines fuzz_<target> for each
# A word of SOURCES with a `*` stands for the sources that it matches, without tests and fuzz targets: a new file needs no line.
# A library is named for its folder: src/store/embedded is store_embedded. What it may include is what it LINKS
# (transitively); tools/check_layers.py refuses anything else.
# What belongs to one system says so in its name: sources *_linux.cc and *_windows.cc, libraries *_linux and *_windows. They
# may be listed anywhere, and are left out of the other system's build.
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
set_property(GLOBAL PROPERTY porthole_layers "")

include(units)

if(WIN32)
  set(porthole_other_system linux)
else()
  set(porthole_other_system windows)
endif()

# A folder that the Windows build has nothing of.
function(porthole_linux_subdirectory folder)
  if(NOT WIN32)
    add_subdirectory(${folder})
  endif()
endfunction()

# Takes the names that belong to the other system out of the list variables.
macro(porthole_filter)
  foreach(list ${ARGN})
    list(FILTER ${list} EXCLUDE REGEX "_${porthole_other_system}(\\.cc)?$")
  endforeach()
endmacro()

# Replaces each pattern in the list variable by the sources that it matches; ninja looks again before every build.
macro(porthole_expand list)
  set(porthole_expanded "")
  foreach(word ${${list}})
    if(word MATCHES "[*]")
      file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${word})
      list(FILTER found EXCLUDE REGEX "_(test|fuzz|fixture)\\.cc$")
      list(APPEND porthole_expanded ${found})
    else()
      list(APPEND porthole_expanded ${word})
    endif()
  endforeach()
  set(${list} ${porthole_expanded})
endmacro()

# What a library of `folder` links, for the check of layers and for the units that small libraries share.
function(porthole_record name folder) # [link...]
  string(REPLACE ";" "," links "${ARGN}")
  set_property(GLOBAL APPEND PROPERTY porthole_layers "${name} ${folder} ${links}")
  set(links ${ARGN})
  porthole_filter(links)
  set_property(GLOBAL PROPERTY porthole_links_${name} ${links})
endfunction()

function(porthole_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  porthole_record(${name} ${folder} ${ARG_LINKS} ${ARG_PRIVATE_LINKS})
  if(name MATCHES "_${porthole_other_system}$")
    return()
  endif()
  porthole_expand(ARG_SOURCES)
  porthole_filter(ARG_SOURCES ARG_LINKS ARG_PRIVATE_LINKS)
  porthole_is_small(small ${folder} ${ARG_SOURCES})
  if(small)
    porthole_small_library(${name} ${folder} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS} PRIVATE_LINKS ${ARG_PRIVATE_LINKS})
    return()
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  porthole_compile_together(${name} library)
  porthole_inline_sparingly(${name} ${folder})
  porthole_optimize_hot(${name} ${folder})
  target_link_libraries(${name} PUBLIC porthole_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# Another name for a library of the same folder.
function(porthole_alias name library)
  add_library(${name} ALIAS ${library})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  porthole_record(${name} ${folder} ${library})
endfunction()

function(porthole_test name)
  cmake_parse_arguments(ARG "WINDOWS" "LABEL" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  if((WIN32 AND NOT ARG_WINDOWS) OR (NOT WIN32 AND name MATCHES "_windows_test$"))
    return()
  endif()
  porthole_filter(ARG_SOURCES ARG_LINKS)
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  porthole_compile_together(${name} test)
  target_link_libraries(${name} PRIVATE porthole_flags ${ARG_LINKS} GTest::gtest GTest::gmock GTest::gtest_main Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 1200)  # only for what hangs: machines are slow and busy
  if(ARG_LABEL STREQUAL "slow")
    set_tests_properties(${name} PROPERTIES COST 1)  # starts first, so that nothing waits for it alone
  endif()
  if(WIN32)
    add_dependencies(windows_tests ${name})
  endif()
endfunction()

if(WIN32)
  add_custom_target(windows_programs)
  add_custom_target(windows_tests)
endif()

# Refuses a program that needs a library which Windows does not have.
function(porthole_check_imports name)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_SOURCE_DIR}/cmake/windows/check_imports.py $<TARGET_FILE:${name}>)
  add_dependencies(windows_programs ${name})
endfunction()

function(porthole_windows_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(WIN32)
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE porthole_flags ${ARG_LINKS})
    porthole_used_by(${name} ${ARG_LINKS})
    target_link_options(${name} PRIVATE -s)
    porthole_check_imports(${name})
  endif()
endfunction()

function(porthole_windows_dll name)
  cmake_parse_arguments(ARG "" "DEF" "SOURCES;LINKS" ${ARGN})
  if(WIN32)
    add_library(${name} SHARED ${ARG_SOURCES} ${ARG_DEF})
    target_link_libraries(${name} PRIVATE porthole_flags ${ARG_LINKS})
    porthole_used_by(${name} ${ARG_LINKS})
    target_link_options(${name} PRIVATE -s)
    set_target_properties(${name} PROPERTIES PREFIX "")
    porthole_check_imports(${name})
  endif()
endfunction()

# Every fuzz target is a function. The preset `asan` makes a libFuzzer program of each, build/asan/fuzz/<name>; every build links them all
# into one test, fuzz_replay_test, which feeds them their seeds.
if(PORTHOLE_SANITIZE MATCHES "fuzzer-no-link")
  add_custom_target(fuzz_targets)
endif()
function(porthole_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TARGETS;LINKS" ${ARGN})
  if(WIN32)
    return()
  endif()
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM ARG_SOURCES PREPEND ${folder}/ OUTPUT_VARIABLE paths)
  string(REPLACE ";" "," paths "${paths}")
  string(REPLACE ";" "," links "${ARG_LINKS}")
  set_property(GLOBAL APPEND PROPERTY porthole_fuzz_layers "${name} ${paths} ${links}")
  add_library(${name}_object OBJECT ${ARG_SOURCES})
  target_link_libraries(${name}_object PRIVATE porthole_flags ${ARG_LINKS})
  if(PORTHOLE_UNITY)
    target_precompile_headers(${name}_object REUSE_FROM precompiled_library)
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS ${name})
    target_compile_definitions(${name}_object PRIVATE LLVMFuzzerTestOneInput=fuzz_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY porthole_fuzz_objects ${name}_object)
  set_property(GLOBAL APPEND PROPERTY porthole_fuzz_links ${ARG_LINKS})
  foreach(target ${ARG_TARGETS})
    set_property(GLOBAL APPEND PROPERTY porthole_fuzz_names ${target})
    if(TARGET fuzz_targets)
      set(main ${CMAKE_BINARY_DIR}/gen/fuzz/${target}.cc)
      file(CONFIGURE OUTPUT ${main} @ONLY CONTENT [[
#include <cstddef>
#include <cstdint>
extern "C" int fuzz_@target@(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return fuzz_@target@(data, size); }
]])
      add_executable(fuzz_${target} ${main})
      target_link_libraries(fuzz_${target} PRIVATE porthole_flags ${name}_object ${ARG_LINKS} Threads::Threads)
      target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
      set_target_properties(fuzz_${target} PROPERTIES OUTPUT_NAME ${target} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
      add_dependencies(fuzz_targets fuzz_${target})
    endif()
  endforeach()
endfunction()

# A test of `source` and all fuzz targets, which gen/fuzz/fuzz_targets.def lists: FUZZ_TARGET(name). After the last porthole_fuzz.
function(porthole_fuzz_replay name source)
  get_property(names GLOBAL PROPERTY porthole_fuzz_names)
  get_property(objects GLOBAL PROPERTY porthole_fuzz_objects)
  get_property(links GLOBAL PROPERTY porthole_fuzz_links)
  list(APPEND links runtime)
  list(REMOVE_DUPLICATES links)
  list(SORT names)
  list(JOIN names "\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/fuzz_targets.txt CONTENT "${text}\n")
  list(TRANSFORM names REPLACE "(.+)" "FUZZ_TARGET(\\1)")
  list(JOIN names "\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gen/fuzz/fuzz_targets.def CONTENT "${text}\n")
  porthole_test(${name} SOURCES ${source} LINKS ${objects} ${links})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/gen/fuzz)
endfunction()

# After the last library: makes the units that libraries share, and writes what the layer check reads: one line a library, "name folder
# link,link,...", and for fuzz targets "name source,... link,...".
function(porthole_finish)
  porthole_share_units()
  get_property(layers GLOBAL PROPERTY porthole_layers)
  list(JOIN layers "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/layers.txt "${text}\n")
  get_property(layers GLOBAL PROPERTY porthole_fuzz_layers)
  list(JOIN layers "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/fuzz_layers.txt "${text}\n")
endfunction()

# Nothing links a program whose lists are incomplete: tools/check_lists.py, in a fifth of a second and while others compile.
function(porthole_check_lists program)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(GLOB_RECURSE checked CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/api/* ${CMAKE_SOURCE_DIR}/src/*.cc ${CMAKE_SOURCE_DIR}/src/*.def
       ${CMAKE_SOURCE_DIR}/src/*/CMakeLists.txt)
  set(tools ${CMAKE_SOURCE_DIR}/tools)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/lists.checked VERBATIM
    COMMAND ${Python3_EXECUTABLE} ${tools}/check_lists.py
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/lists.checked
    DEPENDS ${checked} ${CMAKE_SOURCE_DIR}/docs/architecture.md ${tools}/check_lists.py ${tools}/check_layers.py ${tools}/check_report.py
    COMMENT "Checking the lists of kinds, controllers, plugins, commands and sources")
  add_custom_target(${program}_lists DEPENDS ${CMAKE_BINARY_DIR}/lists.checked)
  add_dependencies(${program} ${program}_lists)
endfunction()

# `source` embeds `files` (#embed); before the porthole_library that has it. ccache does not see into embedded files, so their hash becomes part
# of the command line: without it a change of the file alone would bring back the old object.
function(porthole_embeds source)
  get_source_file_property(shares ${source} PORTHOLE_SHARES_UNIT)
  if(shares)
    message(FATAL_ERROR "porthole_embeds(${source} ...) has to stand before the porthole_library that has this source")
  endif()
  set(hashes "")
  foreach(file ${ARGN})
    file(SHA256 ${file} hash)
    string(APPEND hashes ${hash})
  endforeach()
  string(SHA256 hash "${hashes}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS PORTHOLE_EMBEDDED="${hash}")
endfunction()
