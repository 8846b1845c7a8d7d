#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"

namespace porthole::cmd {

/// Where a node's program writes its log, as upstream's flags say it.
struct ProgramLog {
    bool to_stderr = true;
    std::int64_t verbosity = 0;   ///< 4 and above: what is for finding faults, too
    std::string directory, file;  ///< `file`, else <program>.log in `directory`; standard error if both are ""
};

std::shared_ptr<LogSink> open_log(const ProgramLog& log, const std::string& program);

}  // namespace porthole::cmd
