#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"

namespace porthole::cmd {

/// The log settings of a node's program, from upstream's flags.
struct ProgramLog {
    bool to_stderr = true;
    std::int64_t verbosity = 0;   ///< 4 and above: includes debug messages
    std::string directory, file;  ///< `file`, else <program>.log in `directory`; standard error if both are ""
};

/// Creates `directory`. If that is impossible, says so on standard error and logs there.
std::shared_ptr<LogSink> open_log(const ProgramLog& log, const std::string& program);

}  // namespace porthole::cmd
