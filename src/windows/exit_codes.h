#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace porthole::windows {

/// An exit code by which Windows itself says why a process ended.
struct ExitCode {
    std::uint32_t code;      ///< 0xC0000135
    std::string_view name;   ///< "STATUS_DLL_NOT_FOUND"
    std::string_view words;  ///< what happened, as the middle of a sentence
    std::string_view remedy;
};
/// In the order of their numbers.
std::span<const ExitCode> exit_codes();

/// "0xC0000135", as it is written of exit codes.
std::string hexadecimal(std::uint32_t code);

/// Why a process ended with `code`, and what to do: one sentence without a full stop; "" for codes that are the program's own. The
/// DLL that is missing is named when `log`, the end of what the process wrote, names it. `log` is a container's: any text.
std::string exit_explanation(std::int32_t code, std::string_view log);

}  // namespace porthole::windows
