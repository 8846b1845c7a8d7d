// Manifests of anyone: `porthole lint` reads, reports and mends them.
#include "fuzz_target.h"
#include "schema/json/json.h"
#include "windows/accounts.h"
#include "windows/exit_codes.h"
#include "windows/lint/fix.h"
#include "windows/lint/report.h"
#include "windows/runtime.h"

using namespace porthole;
using namespace porthole::windows::lint;

/// Every format of a report is what it says, and shows nothing that a terminal obeys.
FUZZ_TARGET(lint_fuzz) {
    for (const char* system : {"", "windows"}) {
        auto checked = check(text, {.system = system, .build = 20348, .network = windows::PodNetwork::Overlay});
        if (!checked) return;
        for (const Problem& one : checked->problems) fuzz::expect(one.place.line == 0 || (one.place.column > 0 && one.place.length > 0));
        const std::vector<FileReport> files = {{"f", std::string(text), "", *std::move(checked)}};
        for (const char c : to_report(files, Format::Text)) fuzz::expect(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
        fuzz::expect(schema::parse_json(to_report(files, Format::Json)).has_value());
        fuzz::expect(schema::parse_json(to_report(files, Format::Sarif)).has_value());
        to_report(files, Format::GitHub);
    }
}

/// What a log makes of an explanation is one line of plain text.
FUZZ_TARGET(exit_explanation_fuzz) {
    const std::string why = porthole::windows::exit_explanation(static_cast<std::int32_t>(0xC0000135), text);
    for (const char c : why) fuzz::expect(static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f);
    fuzz::expect(why.size() < 1024);
}

/// What --fix makes can be read, has the same objects, and is not changed again.
FUZZ_TARGET(lint_fix_fuzz) {
    const auto made = fix(text, {.system = "windows"});
    if (!made) return;
    const auto again = fix(made->text, {.system = "windows"});
    fuzz::expect(again.has_value() && again->text == made->text && again->edits == 0);
    fuzz::expect(made->edits > 0 || made->text == text);
    fuzz::expect(check(text)->objects == made->left.objects);
}

/// A user name that Windows would not have is refused, and a version is read from the text or is unknown.
FUZZ_TARGET(windows_names_fuzz) {
    if (windows::account_problems(text).empty()) {
        constexpr std::size_t LongestDomain = 255, LongestUser = 104;
        fuzz::expect(!text.empty() && text.size() <= LongestDomain + 1 + LongestUser);
        for (const char c : text) fuzz::expect(c < 0 || (c >= ' ' && c != 127));
        fuzz::expect(text.find_first_of("/:*?\"<>|") == text.npos && text.find('\\') == text.rfind('\\') && text.back() != '\\');
    }
    const windows::Runtime runtime = windows::runtime_of(text);
    fuzz::expect(text.starts_with(runtime.name));
    const std::string version = "://" + std::to_string(runtime.major) + "." + std::to_string(runtime.minor);
    const windows::Runtime again = windows::runtime_of(runtime.name + version);
    fuzz::expect(again.name == runtime.name && again.major == runtime.major && again.minor == runtime.minor);
    fuzz::expect(!runs_host_processes(runtime) || mounts_files(runtime));
}
