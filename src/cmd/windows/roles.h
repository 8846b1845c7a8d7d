#pragma once
#include <span>
#include <string>
#include <string_view>

#include "cmd/program/command.h"

namespace porthole::cmd {

#define COMMAND(name, function, summary) int function(std::vector<std::string> arguments);
#include "cmd/windows/roles.def"
#undef COMMAND

/// What a Windows node's programs do. A role is a sub-command of porthole.exe and a program's own name, as kubelet.exe.
std::span<const SubCommand> windows_roles();

/// "kubelet" of "C:\k\Kubelet.EXE"; also of a path with slashes and without ".exe".
std::string program_name(std::string_view path);

}  // namespace porthole::cmd
