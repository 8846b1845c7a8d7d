#pragma once
#include <string>

#include "base/result.h"

namespace porthole::winhost {

/// A Portable Executable without its debug sections and symbols. The alignment in the file stays (Wine maps sections only if it is a
/// page; otherwise it copies them into every process), and so does everything before the first section. A file that is not one, or has
/// nothing to remove, is returned unchanged. Error: Invalid for a file that contradicts itself.
Result<std::string> strip_debug_sections(std::string image);

/// Wine's default handler ends a program with exit code 0 at a console event (Wine 10's: at most of them), Windows' with 0xC000013A.
/// Corrects kernelbase.dll; false, with nothing changed, if its code is none of the known ones.
bool correct_default_control_handler(std::string& image);

/// Wine writes zeros over 960 kB of every new thread's stack, all of which stays in memory. Makes ntdll.dll clear only the upper 64 kB,
/// which is as much as starting a thread uses; the rest has never been touched, so it is zero anyway. False, with nothing changed, if its
/// code is not the known one.
bool limit_stack_clearing(std::string& image);

/// Wine's VirtualAlloc2 exists but cannot reserve placeholders. V8 (Node.js since 24, Deno) checks whether it exists, and otherwise uses
/// another method: renames the export of kernelbase.dll to VirtualAlloc0, which keeps the names in order. False, with nothing changed, if
/// it exports none.
bool hide_placeholders(std::string& image);

/// At the start of every program, Wine looks for the machine's time zone among all those of the registry and writes it there: some 400
/// questions to its server, a third of those of a start. Makes kernelbase.dll leave that out; programs that ask for the zone still have it
/// looked for. False, with nothing changed, if its code is none of the known ones.
bool leave_out_time_zone(std::string& image);

}  // namespace porthole::winhost
