#pragma once
#include <string>
#include <vector>

#include "cmd/program/runtime_setup.h"
#include "runtime/files/file_system.h"
#include "schema/value.h"

namespace porthole::cmd::self_check {

/// What a probe may use of the machine.
struct Machine {
    RealWorld& world;
    FileSystem& files;
    std::string folder;                     ///< empty when a probe begins, and removed after it; closed to other users
    std::vector<std::string> part_command;  ///< of this program, to which command_of() adds what play_part() reads

    std::string path(const std::string& name) const { return folder + "\\" + name; }
    /// The command of another process that plays a part.
    std::vector<std::string> command_of(const std::string& part) const;
    /// Runs it to its end.
    Result<CommandOutput> play(const std::string& part);
};

/// Looks at one thing. Errors are answers, too: see judge(). Leaves nothing behind but files in its folder.
struct Probe {
    const char* id;
    Result<schema::Value> (*look)(Machine& machine);
};

/// What a probe needs another process for; returns its exit code. `folder` is the probe's.
struct Part {
    const char* name;
    int (*play)(const std::string& folder);
};

/// What one file of areas/ has.
struct Area {
    std::vector<Probe> probes;
    std::vector<Part> parts;
};

}  // namespace porthole::cmd::self_check
