# What is compiled at a time. Most of the time of a compilation is the reading of headers, so several sources are one unit, after headers that
# are compiled once. Off in the preset `lint`, whose tools want one command a source.
option(PORTHOLE_UNITY "compile several sources as one, with precompiled headers" ON)
# Sources of a unit: a rebuild after one change stays short, and two cores end together.
set(porthole_library_batch 24)
set(porthole_test_batch 12)
if(PORTHOLE_UNITY)
  if(CCACHE_PROGRAM)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  foreach(kind library test)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gen/precompiled_${kind}.cc CONTENT "")  # unlike WRITE, keeps the time of an equal file
    add_library(precompiled_${kind} STATIC ${CMAKE_BINARY_DIR}/gen/precompiled_${kind}.cc)
    target_link_libraries(precompiled_${kind} PRIVATE porthole_flags fmt::fmt)
    target_precompile_headers(precompiled_${kind} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
  endforeach()
  target_link_libraries(precompiled_test PRIVATE GTest::gmock)
  target_precompile_headers(precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# Folders whose code mostly waits for others: inlined as sparingly as by -Os, it is compiled in a fifth to a third less time and is a quarter
# smaller. Not -Os itself, since precompiled headers serve only sources of the same level of optimization.
set(porthole_sparing "^(bundled_images|cmd|cni|controllers|hns|kubelet|local_cluster|node_join|node_network|teardown|windows|winhost)(/|$)")
function(porthole_inline_sparingly target folder)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT WIN32 AND folder MATCHES "${porthole_sparing}")
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -inline-threshold=50")
  endif()
endfunction()

# Folders whose code takes a third of an API server's time where nothing is optimized, and so of the tests that start one: the build for tests
# optimizes them. They are few sources, and do without precompiled headers, which serve only sources of the same level of optimization.
set(porthole_hot "^schema(/(fields|json))?$")
function(porthole_optimize_hot target folder)
  if(CMAKE_BUILD_TYPE STREQUAL None AND NOT PORTHOLE_SANITIZE AND folder MATCHES "${porthole_hot}")
    target_compile_options(${target} PRIVATE -O1)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

function(porthole_compile_together target kind) # library or test
  if(PORTHOLE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${porthole_${kind}_batch})
    target_precompile_headers(${target} REUSE_FROM precompiled_${kind})
  endif()
endfunction()

# Small libraries share units: those of several folders are compiled as one. Such a library is a target without sources, and links
# `<library>_unit`, which has the sources of its first library and of some that follow it. Libraries that do not share:
#   - large ones, of which units are full anyway
#   - those with a source that has properties of its own, set before porthole_library
#   - those that some presets optimize, so that the others are the same units in all presets: who compiles one of them finds names that are
#     defined twice
function(porthole_is_small result folder) # source...
  list(LENGTH ARGN count)
  set(small ${PORTHOLE_UNITY})
  if(count GREATER porthole_library_batch OR folder MATCHES "${porthole_hot}")
    set(small OFF)
  endif()
  foreach(source ${ARGN})
    foreach(property COMPILE_DEFINITIONS SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(value ${source} ${property})
      if(value)
        set(small OFF)
      endif()
    endforeach()
  endforeach()
  set(${result} ${small} PARENT_SCOPE)
endfunction()

function(porthole_small_library name folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set_source_files_properties(${ARG_SOURCES} PROPERTIES PORTHOLE_SHARES_UNIT ON)
  set_property(GLOBAL APPEND PROPERTY porthole_small_libraries ${name})
  set_property(GLOBAL PROPERTY porthole_sources_${name} ${ARG_SOURCES})
  set_property(GLOBAL PROPERTY porthole_folder_${name} ${folder})
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE porthole_flags ${ARG_LINKS})
  add_library(${name}_private INTERFACE) # what only its own sources see, found from its own folder
  target_link_libraries(${name}_private INTERFACE ${ARG_PRIVATE_LINKS})
endfunction()

# `program` links these libraries, and what they link.
function(porthole_used_by program) # library...
  set_property(GLOBAL APPEND PROPERTY porthole_programs ${program})
  set_property(GLOBAL PROPERTY porthole_used_by_${program} ${ARGN})
endfunction()

function(porthole_mark_used program) # library...
  foreach(library ${ARGN})
    get_property(users GLOBAL PROPERTY porthole_users_${library})
    if(NOT program IN_LIST users)
      set_property(GLOBAL APPEND PROPERTY porthole_users_${library} ${program})
      get_property(links GLOBAL PROPERTY porthole_links_${library})
      porthole_mark_used(${program} ${links})
    endif()
  endforeach()
endfunction()

# Only libraries that the same programs use share a unit, so that no program contains, or waits for, what it does not link. The library `api`
# counts as a program here: what it links is needed before its headers exist, so that it must not wait for these. Whole libraries fill a unit
# in the order of the tree, so that a new source moves few others to another unit.
function(porthole_share_units)
  get_property(programs GLOBAL PROPERTY porthole_programs)
  foreach(program ${programs})
    get_property(links GLOBAL PROPERTY porthole_used_by_${program})
    porthole_mark_used(${program} ${links})
  endforeach()
  set(kinds "")
  get_property(libraries GLOBAL PROPERTY porthole_small_libraries)
  foreach(library ${libraries})
    get_property(kind GLOBAL PROPERTY porthole_users_${library})
    get_property(folder GLOBAL PROPERTY porthole_folder_${library})
    get_property(sources GLOBAL PROPERTY porthole_sources_${library})
    if(folder MATCHES "${porthole_sparing}")
      list(APPEND kind sparing)
    endif()
    list(JOIN kind _ kind)
    list(APPEND kinds "of ${kind}")
    list(LENGTH sources_${kind} count)
    list(LENGTH sources more)
    math(EXPR count "${count} + ${more}")
    if(count GREATER porthole_library_batch)
      porthole_unit("${sources_${kind}}" ${libraries_${kind}})
      set(sources_${kind} "")
      set(libraries_${kind} "")
    endif()
    list(APPEND sources_${kind} ${sources})
    list(APPEND libraries_${kind} ${library})
  endforeach()
  list(REMOVE_DUPLICATES kinds)
  list(TRANSFORM kinds REPLACE "of " "")
  foreach(kind IN LISTS kinds)
    porthole_unit("${sources_${kind}}" ${libraries_${kind}})
  endforeach()
endfunction()

function(porthole_unit sources first) # library...
  set(unit ${first}_unit)
  add_library(${unit} STATIC ${sources})
  porthole_compile_together(${unit} library)
  get_property(folder GLOBAL PROPERTY porthole_folder_${first})
  porthole_inline_sparingly(${unit} ${folder})
  foreach(library ${first} ${ARGN})
    target_link_libraries(${unit} PRIVATE ${library} ${library}_private)
    target_link_libraries(${library} INTERFACE ${unit})
  endforeach()
endfunction()
