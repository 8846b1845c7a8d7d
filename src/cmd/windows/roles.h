#pragma once
#include <span>
#include <string>
#include <string_view>

#include "cmd/program/command.h"

namespace porthole::cmd {

#define COMMAND(name, function, summary) int function(std::vector<std::string> arguments);
#include "cmd/windows/roles.def"
#undef COMMAND

/// The programs of a Windows node. A role is a subcommand of porthole.exe, and the name of a program such as kubelet.exe.
std::span<const SubCommand> windows_roles();

/// "kubelet" of "C:\k\Kubelet.EXE"; also of a path with slashes and without ".exe".
std::string program_name(std::string_view path);

}  // namespace porthole::cmd
