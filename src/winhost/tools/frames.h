#pragma once
#include <cstdint>

namespace porthole::winhost {

/// What goes over the socket of a container's init: frames of a type (1 byte), a length (4 bytes, little endian) and as many bytes.
/// A connection begins with one Request, whose text is words that each end with a zero byte:
///
///   wait                       Started or Failed and later Exit of the main program, at once if it was before
///   attach  INPUT              its output from now on as Output and Errors, then Exit; INPUT "1": takes Input, EndInput, Resize
///   exec    TTY INPUT SPEC     runs another program: Started or Failed, Output, Errors, Exit; takes Input, EndInput, Resize, Event
///   run     PROGRAM VARIABLES  runs another program without launch.exe: as exec without TTY and with INPUT, but it has no arguments, sees
///                              Wine's own variables, and exit codes have 8 bits
///   event   NAME               raises a control event ("0" to "6", or "kill") in the main program; answered by Exit 0
///   begin                      starts the main program, where it is held back until then; answered by Exit 0
///   reopen                     opens the log again; answered by Exit 0
///   dial    PORT               connects to 127.0.0.1 (or ::1): Started, then Output and Input carry its bytes; Failed
///
/// Failed holds a number (Windows' error) and a line of text. Exit holds 4 bytes. A connection that is closed by the client ends the
/// program of an exec or a run.
enum class FrameType : std::uint8_t { Request, Input, EndInput, Resize, Event, Output, Errors, Started, Failed, Exit };

constexpr std::uint32_t LargestFrame = 1 << 20;

}  // namespace porthole::winhost
