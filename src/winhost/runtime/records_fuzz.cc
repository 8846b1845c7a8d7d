// What a host's runtime finds on its disk, what pods say of paths on Windows, and what programs in them write.
#include "winhost/runtime/records.h"

#include <cstdint>
#include <cstdlib>

#include "runtime/processes/windows_command_line.h"
#include "winhost/runtime/init_connection.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/runtime/windows_path.h"
#include "winhost/tools/log_lines.h"
#include "winhost/tools/service_recovery.h"

using namespace porthole;
using namespace porthole::winhost;

namespace {

template <class Record>
void round_trip(const std::string& text) {
    const auto record = Record::decode(text);
    if (!record) return;
    const auto again = Record::decode(record->encode());
    if (!again || again->encode() != record->encode()) std::abort();
}

void path(std::string_view text) {
    const auto path = WindowsPath::parse(text);
    if (!path) return;
    for (const std::string& component : path->components)
        if (component == ".." || component.find_first_of("/\\") != component.npos) std::abort();
    const auto again = WindowsPath::parse(path->text());
    if (!again || again->text() != path->text()) std::abort();
}

/// A program's arguments come back as they were, whatever they hold; its own name cannot hold everything.
void command_line(const std::string& text) {
    std::vector<std::string> words = split_windows_command_line(text);
    if (words.empty()) return;
    words.front() = "a.exe";
    if (split_windows_command_line(join_command_line(words)) != words) std::abort();
}

/// However a program's output arrives, its lines are the same.
void log_lines(std::string_view text) {
    const auto all = [](LogLines& lines, std::vector<LogLine> read) {
        for (LogLine& line : lines.rest()) read.push_back(std::move(line));
        std::string joined;
        for (const LogLine& line : read) joined += line.text + (line.whole ? "\n" : "");
        return joined;
    };
    LogLines whole, cut;
    std::vector<LogLine> in_pieces;
    for (const char byte : text)
        for (LogLine& line : cut.add({&byte, 1})) in_pieces.push_back(std::move(line));
    std::vector<LogLine> at_once = whole.add(text);
    if (all(whole, std::move(at_once)) != all(cut, std::move(in_pieces))) std::abort();
}

/// What is not refused comes back from the file that init would write of it.
void program_end(const std::string& text) {
    const auto end = parse_program_end(text);
    if (!end) return;
    const std::string time = std::to_string(end->time);
    const auto again = parse_program_end(end->failure.empty() ? std::to_string(static_cast<std::uint32_t>(end->code)) + " " + time
                                                              : "failed " + time + " " + end->failure);
    if (!again || again->code != end->code || again->time != end->time || again->failure != end->failure) std::abort();
    if (!end->failure.empty()) static_cast<void>(error_of_failure(end->failure));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    round_trip<SandboxRecord>(text);
    round_trip<ContainerRecord>(text);
    path(text);
    command_line(text);
    log_lines(text);
    program_end(text);
    static_cast<void>(ProgramSpec::decode(text));
    if (const auto plan = RecoveryPlan::parse(text)) static_cast<void>(FailureCounter().failed(L"a", *plan, 1));
    return 0;
}
