# PORTHOLE_STATIC: libraries are taken from archives, and the program for Linux needs none of the system's, not even glibc. What is
# built on Debian 12 then runs on older and newer systems, too.
option(PORTHOLE_STATIC "link the program without shared libraries" OFF)

if(PORTHOLE_STATIC AND NOT WIN32)
  # CMake remembers where it found libraries, so a build folder cannot change over.
  if(SQLite3_LIBRARY MATCHES "\\.so$")
    message(FATAL_ERROR "${CMAKE_BINARY_DIR} was configured for shared libraries: remove it and build again")
  endif()
  # fmt, spdlog and wslay: Debian packages no archives of them.
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/static/build_dependencies.sh
                  OUTPUT_VARIABLE porthole_static_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(PREPEND CMAKE_PREFIX_PATH ${porthole_static_prefix})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()

# Links the program `name` as PORTHOLE_STATIC says.
function(porthole_program name)
  if(PORTHOLE_STATIC AND NOT WIN32)
    # Position-independent all the same: where it is loaded stays unknown to an attacker.
    target_link_options(${name} PRIVATE -static-pie)
    target_compile_definitions(${name} PRIVATE PORTHOLE_STATIC)
  endif()
endfunction()
