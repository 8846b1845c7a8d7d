# Cross compilation for 64-bit Windows: clang and lld on the headers and libraries of mingw-w64, linked statically with the
# libraries that build_dependencies.sh has put into a prefix of their own.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

set(target x86_64-w64-windows-gnu)
# The variant with POSIX threads: clang by itself takes that with Win32's, which has no std::thread.
file(GLOB mingw /usr/lib/gcc/x86_64-w64-mingw32/*-posix) # of Debian 12: 12-posix, of Debian 13: 14-posix
if(mingw)
  list(GET mingw -1 mingw)
endif()
if(NOT EXISTS ${mingw}/include/c++/expected)
  message(FATAL_ERROR "The Windows build needs mingw's libraries with POSIX threads: install g++-mingw-w64-x86-64-posix, or use ./run build windows")
endif()

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET ${target})
set(CMAKE_CXX_COMPILER_TARGET ${target})
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_AR /usr/bin/x86_64-w64-mingw32-ar)
set(CMAKE_RANLIB /usr/bin/x86_64-w64-mingw32-ranlib)

# Windows 10 (Server 2016) and newer. libstdc++ of mingw keeps its thread-local variables in emulated storage.
set(common "-femulated-tls -D_WIN32_WINNT=0x0A00 -DNOMINMAX -DWIN32_LEAN_AND_MEAN -ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_INIT "${common}")
set(CMAKE_CXX_FLAGS_INIT "${common} -nostdinc++ -isystem ${mingw}/include/c++ -isystem ${mingw}/include/c++/x86_64-w64-mingw32 -isystem ${mingw}/include/c++/backward")
set(CMAKE_C_STANDARD_LIBRARIES "-lpthread")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lpthread")

if(NOT PORTHOLE_WINDOWS_PREFIX)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/build_dependencies.sh
                  OUTPUT_VARIABLE PORTHOLE_WINDOWS_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PORTHOLE_WINDOWS_PREFIX)

# Libraries and headers come from the prefix and from nowhere else: /usr/include would bring in glibc's.
set(CMAKE_FIND_ROOT_PATH ${PORTHOLE_WINDOWS_PREFIX})
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_PREFIX_PATH /)
set(ENV{PKG_CONFIG_LIBDIR} ${PORTHOLE_WINDOWS_PREFIX}/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
set(OPENSSL_ROOT_DIR ${PORTHOLE_WINDOWS_PREFIX})
set(OPENSSL_USE_STATIC_LIBS ON)
include_directories(SYSTEM ${PORTHOLE_WINDOWS_PREFIX}/include)
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld-19 -static -L${mingw} -L${PORTHOLE_WINDOWS_PREFIX}/lib -Wl,--gc-sections -Wl,--no-insert-timestamp")
endforeach()

set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/wine_run.sh)
