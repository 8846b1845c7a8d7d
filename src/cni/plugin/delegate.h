#pragma once
#include <map>
#include <optional>
#include <string>

#include "cni/plugin/plugin.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::cni {

/// Calls other plugins by their type: those of this program directly, others as programs in CNI_PATH. `program_suffix` is ".exe" on
/// Windows.
class Delegates {
public:
    /// Both outlive it; without `processes` there are only plugins of this program.
    Delegates(FileSystem& files, ProcessRunner* processes, std::string program_suffix)
        : files_(files), processes_(processes), suffix_(std::move(program_suffix)) {}

    /// `plugin` outlives it.
    void add(std::string type, Plugin& plugin) { own_[std::move(type)] = &plugin; }

    /// The same command with another configuration. Errors are the other plugin's own, or "failed to find plugin ..." if there is none of
    /// that type.
    Task<CniResult> add_by(std::string type, CniRequest request, schema::Value config);
    /// DEL, CHECK, STATUS, GC; or DEL instead of the request's own command.
    Task<> call(std::string type, std::string command, CniRequest request, schema::Value config);

private:
    Plugin* find_own(const std::string& type) const;
    Task<std::string> run_program(std::string type, CniRequest request);

    FileSystem& files_;
    ProcessRunner* processes_;
    std::string suffix_;
    std::map<std::string, Plugin*> own_;
};

}  // namespace porthole::cni
