#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/processes/process.h"

namespace porthole::provision {

/// A command of a POSIX shell that yields exactly these words: each in single quotes.
std::string quote_for_shell(const std::vector<std::string>& words);

/// A string literal of PowerShell: '…', in which nothing is expanded.
std::string quote_for_powershell(std::string_view text);
/// A command that runs `script` (UTF-8) from cmd.exe as from PowerShell: its only argument is base64.
std::string powershell_command(std::string_view script);

/// Text from a machine for one line on a terminal: without control characters, including those of 8 bits, and at most its last 1,000 bytes.
std::string printable(std::string_view text);

/// The lines "key=value" of a machine's answer; other lines are ignored, at most 50 are read. For a duplicate key the first is used. Values
/// are printable().
std::map<std::string, std::string> parse_answers(std::string_view output);

/// Success for exit code 0, otherwise an Io error: `what`, and the machine's output, printable().
Result<void> check_output(const CommandOutput& done, const std::string& what);

}  // namespace porthole::provision
