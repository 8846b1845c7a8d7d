#include "windows/exit_codes.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"

namespace porthole::windows {
namespace {

constexpr std::uint32_t DllNotFound = 0xC0000135;

constexpr ExitCode Codes[] = {
    {0x80000003, "STATUS_BREAKPOINT", "the program met a breakpoint without a debugger, as failed assertions do",
     "check its log, and run a release build"},
    {0xC0000005, "STATUS_ACCESS_VIOLATION", "the program read or wrote memory that it does not have",
     "check its log; it is a defect of the program or of a DLL that it loads"},
    {0xC0000017, "STATUS_NO_MEMORY", "the program was refused memory", "raise resources.limits.memory"},
    {0xC000001D, "STATUS_ILLEGAL_INSTRUCTION", "the program used an instruction that the processor does not have",
     "use a build for the node's processor"},
    {0xC000007B, "STATUS_INVALID_IMAGE_FORMAT", "the program or one of its DLLs is not for this processor, or is damaged",
     "use 64-bit builds of the program and of all its DLLs"},
    {0xC0000094, "STATUS_INTEGER_DIVIDE_BY_ZERO", "the program divided by zero", "check its log; it is a defect of the program"},
    {0xC00000FD, "STATUS_STACK_OVERFLOW", "the program used up its stack", "look for an endless recursion, or link it with a larger stack"},
    {DllNotFound, "STATUS_DLL_NOT_FOUND", "a DLL that the program needs was not found",
     "put it next to the program, install its redistributable package in the image, or use a base image that has it"},
    {0xC0000139, "STATUS_ENTRYPOINT_NOT_FOUND", "a DLL of the program lacks a function that it needs",
     "use the version of the DLL that the program was built with, or a newer base image"},
    {0xC000013A, "STATUS_CONTROL_C_EXIT", "the program was ended by Ctrl+C or by the shutdown of its container",
     "handle the event to exit with its own code"},
    {0xC0000142, "STATUS_DLL_INIT_FAILED", "a DLL of the program failed to initialize",
     "look for a DLL that needs a desktop or another account; nanoserver has no user interface"},
    {0xC0000374, "STATUS_HEAP_CORRUPTION", "the program damaged its heap", "check its log; it is a defect of the program"},
    {0xC0000409, "STATUS_STACK_BUFFER_OVERRUN", "the program ended itself immediately, as abort() and failed security checks do",
     "check its log"},
    {0xE0434352, ".NET exception", "an exception of .NET was not caught", "check its log, which has the exception"},
};

constexpr bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The last word of `text` that is the name of a DLL, without folders; "" without one.
std::string_view last_dll(std::string_view text) {
    constexpr std::string_view Suffix = ".dll";
    constexpr std::size_t LongestName = 255;
    const std::string small = to_lower(text);
    for (std::size_t end = small.rfind(Suffix); end != small.npos; end = end == 0 ? small.npos : small.rfind(Suffix, end - 1)) {
        std::size_t begin = end;
        while (begin > 0 && (is_letter_or_digit(text[begin - 1]) || std::string_view("-_.+").contains(text[begin - 1]))) --begin;
        if (begin < end && end - begin <= LongestName) return text.substr(begin, end + Suffix.size() - begin);
    }
    return "";
}

/// The DLL of the last line that says that one is missing: of loaders ("Library a.dll (which is needed by ...) not found"), .NET
/// ("Unable to load DLL 'a.dll'") and others.
std::string_view missing_dll(std::string_view log) {
    constexpr std::string_view Phrases[] = {"not found", "could not be found", "unable to load", "cannot load", "missing"};
    while (!log.empty()) {
        const std::size_t before = log.rfind('\n', log.size() - 1 - (log.back() == '\n' ? 1 : 0));
        const std::string_view line = log.substr(before == log.npos ? 0 : before + 1);
        const std::string small = to_lower(line);
        const bool says = std::ranges::any_of(Phrases, [&](std::string_view phrase) { return small.contains(phrase); });
        // "a.dll (which is needed by b.dll)": the one that needs it comes in brackets.
        if (const std::string_view found = last_dll(line.substr(0, line.find(" (which is needed by"))); says && !found.empty())
            return found;
        if (before == log.npos) break;
        log = log.substr(0, before);
    }
    return "";
}

}  // namespace

std::span<const ExitCode> exit_codes() { return Codes; }

std::string hexadecimal(std::uint32_t code) {
    char number[16];
    std::snprintf(number, sizeof number, "0x%08X", code);
    return number;
}

std::string exit_explanation(std::int32_t code, std::string_view log) {
    const auto found = std::ranges::find(Codes, static_cast<std::uint32_t>(code), &ExitCode::code);
    if (found == std::end(Codes)) return "";
    std::string text = hexadecimal(found->code) + " (" + std::string(found->name) + "): " + std::string(found->words);
    if (const std::string_view dll = found->code == DllNotFound ? missing_dll(log) : ""; !dll.empty())
        text += " (" + std::string(dll) + ")";
    return text + "; " + std::string(found->remedy);
}

}  // namespace porthole::windows
