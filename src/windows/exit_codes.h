#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace porthole::windows {

/// An exit code with which Windows itself reports why a process ended.
struct ExitCode {
    std::uint32_t code;      ///< 0xC0000135
    std::string_view name;   ///< "STATUS_DLL_NOT_FOUND"
    std::string_view words;  ///< what happened, for the middle of a sentence
    std::string_view remedy;
};
/// In the order of their numbers.
std::span<const ExitCode> exit_codes();

/// "0xC0000135", the usual form of exit codes.
std::string hexadecimal(std::uint32_t code);

/// Why a process ended with `code`, and what to do: one sentence without a full stop; "" for codes of the program itself. Names the missing
/// DLL if `log`, the end of the process' output, does. `log` comes from a container: any text.
std::string exit_explanation(std::int32_t code, std::string_view log);

}  // namespace porthole::windows
