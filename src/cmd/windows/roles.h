#pragma once
#include <span>
#include <string>
#include <string_view>

#include "cmd/program/command.h"

namespace porthole::cmd {

/// What a Windows node's programs do. A role is a sub-command of porthole.exe and a program's own name, as kubelet.exe.
std::span<const SubCommand> windows_roles();

int run_kubeadm(std::vector<std::string> arguments);
int run_install(std::vector<std::string> arguments);
int run_register(std::vector<std::string> arguments);
int run_start(std::vector<std::string> arguments);

/// "kubelet" of "C:\k\Kubelet.EXE"; also of a path with slashes and without ".exe".
std::string program_name(std::string_view path);

/// nullptr when there is none.
const SubCommand* find_role(std::span<const SubCommand> roles, std::string_view name);

}  // namespace porthole::cmd
