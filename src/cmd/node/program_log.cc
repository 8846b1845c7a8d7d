#include "cmd/node/program_log.h"

#include "cmd/program/runtime_setup.h"
#include "runtime/files/file_system.h"

namespace porthole::cmd {

std::shared_ptr<LogSink> open_log(const ProgramLog& log, const std::string& program) {
    const LogLevel lowest = log.verbosity >= 4 ? LogLevel::Debug : LogLevel::Info;
    if (log.to_stderr || (log.file.empty() && log.directory.empty())) return make_stderr_sink(lowest);
    if (!log.file.empty()) return make_file_sink(log.file, lowest);
    // Windows opens no file in a directory that is not there: the log would be lost, and the program would not say so.
    if (const auto made = make_file_system()->create_directories(log.directory, 0755); !made) {
        (void)fail("--log-dir: " + made.error().message);
        return make_stderr_sink(lowest);
    }
    return make_file_sink(log.directory + "/" + program + ".log", lowest);
}

}  // namespace porthole::cmd
