# One compiler for every target. GCC 12 destroys temporaries of a co_await expression twice (a silent double free), so it
# is refused here and not found out in production.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "Porthole needs clang 19 or newer (found ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}): "
                      "other compilers miscompile coroutines. Use a preset, for example: cmake --preset dev")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Thin archives name their objects instead of holding a second copy of each. mingw's ar and ranlib take 10 s of processor time for the objects
# of the schema, lld 0.03 s.
foreach(language C CXX)
  if(WIN32)
    set(CMAKE_${language}_ARCHIVE_CREATE "lld-link-19 /lib /llvmlibthin /out:<TARGET> <OBJECTS>")
    set(CMAKE_${language}_ARCHIVE_FINISH "")
  else()
    set(CMAKE_${language}_ARCHIVE_CREATE "<CMAKE_AR> qc --thin <TARGET> <LINK_FLAGS> <OBJECTS>")
  endif()
endforeach()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths below the source tree are hashed relative to the build folder, so that every build folder shares one cache. Precompiled
  # headers are only cached without their times (see porthole.cmake); no source uses __DATE__ or __TIME__.
  set(ccache_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
endif()

set(PORTHOLE_SANITIZE "" CACHE STRING "sanitizers to build with, as in -fsanitize=")
set(PORTHOLE_PROFILE "" CACHE FILEPATH "counts of what runs under load, if the file is there: ./run profile makes it")
option(PORTHOLE_WERROR "treat warnings as errors" ON)

add_library(porthole_flags INTERFACE)
target_include_directories(porthole_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(porthole_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wno-unused-parameter)
if(PORTHOLE_WERROR)
  target_compile_options(porthole_flags INTERFACE -Werror)
endif()
target_link_options(porthole_flags INTERFACE -fuse-ld=lld-19)
if(WIN32)
  # Wine maps only sections that are at a page of their file; others it reads into each process, 11 MB at every call of a CNI plugin.
  target_link_options(porthole_flags INTERFACE -Wl,--file-alignment=4096)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_SOURCE_DIR}/cmake/windows/prelude.h>")
endif()
if(EXISTS "${PORTHOLE_PROFILE}")
  # Names of functions in unnamed namespaces have the name of their file, without its folder, which differs between the two builds.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-fprofile-use=${PORTHOLE_PROFILE} -mllvm -static-func-full-module-prefix=false>"
                      -Wno-profile-instr-out-of-date -Wno-profile-instr-unprofiled -Wno-backend-plugin)
endif()
if(PORTHOLE_SANITIZE)
  add_compile_options(-fsanitize=${PORTHOLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PORTHOLE_SANITIZE})
  if(PORTHOLE_SANITIZE MATCHES "address" AND PORTHOLE_SANITIZE MATCHES "undefined")
    # A check at every use of a pointer doubles the time to compile (measured: 8.4 s against 4.1 s for a file of the schema),
    # and the address sanitizer stops at null and wild pointers anyway.
    add_compile_options(-fno-sanitize=null,alignment,vptr,object-size,nonnull-attribute)
  endif()
endif()
