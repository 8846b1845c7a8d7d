#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/volumes/flex_volume/flex_answer.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// "vendor/driver" or "driver", of letters, digits, '-', '.' and '_': it becomes part of paths.
bool is_flex_driver_name(std::string_view name);

/// "vendor~driver", as in directory names.
std::string flex_folder_name(std::string driver);

/// A FlexVolume driver that an administrator has put on the node: the program <directory>/<vendor>~<driver>/<driver>.
///
/// On Windows it is <driver>.exe or the script <driver>.ps1, which PowerShell runs; the names of these files do not contain a ".cmd" at the
/// end of the driver's name. Batch files are never run: anyone who may create pods chooses a volume's options, and cmd.exe would interpret
/// some of their characters as commands.
class FlexDriver {
public:
    /// Error: NotFound, also for an invalid name.
    static Result<FlexDriver> find(const std::string& directory, const std::string& name, bool windows, FileSystem& files);

    /// Runs the driver with these arguments, of which the first is the command, for at most ten minutes. Errors: those of
    /// parse_flex_answer(); NotFound, Timeout.
    Task<FlexAnswer> call(std::vector<std::string> words, ProcessRunner& programs) const;

private:
    explicit FlexDriver(std::vector<std::string> program) : program_(std::move(program)) {}
    std::vector<std::string> program_;
};

}  // namespace porthole::kubelet
