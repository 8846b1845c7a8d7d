#include "cmd/node/program_log.h"

namespace porthole::cmd {

std::shared_ptr<LogSink> open_log(const ProgramLog& log, const std::string& program) {
    const LogLevel lowest = log.verbosity >= 4 ? LogLevel::Debug : LogLevel::Info;
    if (log.to_stderr || (log.file.empty() && log.directory.empty())) return make_stderr_sink(lowest);
    return make_file_sink(log.file.empty() ? log.directory + "/" + program + ".log" : log.file, lowest);
}

}  // namespace porthole::cmd
