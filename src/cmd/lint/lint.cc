#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/strings.h"
#include "cmd/lint/lint_files.h"
#include "cmd/program/flags.h"
#include "windows/lint/fix.h"
#include "windows/lint/report.h"
#include "windows/support.h"

namespace porthole::cmd {
namespace {

using namespace windows::lint;
using lint::Source;

struct LintFlags {
    std::vector<std::string> paths;
    std::string system, build, network, runtime, output = "text", code;
    bool strict = false, fix = false, rules = false;
};

/// Years are what people know builds by.
std::uint32_t build_of(const std::string& text) {
    static const std::map<std::string, std::uint32_t> Years = {{"2019", 17763}, {"2022", 20348}, {"2025", 26100}};
    const auto year = Years.find(text);
    return year != Years.end() ? year->second : static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

Options options_of(const LintFlags& flags) {
    Options options{.system = flags.system, .build = build_of(flags.build), .runtime = windows::runtime_of(flags.runtime)};
    if (flags.network == "l2bridge") options.network = windows::PodNetwork::L2Bridge;
    if (flags.network == "overlay") options.network = windows::PodNetwork::Overlay;
    return options;
}

int explain_code(const std::string& code) {
    const windows::Rule* rule = windows::find_rule(to_upper(code));
    if (!rule) return std::fprintf(stderr, "porthole lint: there is no rule %s; `porthole lint --rules` lists them\n", code.c_str()), 2;
    std::fputs(explain(*rule).c_str(), stdout);
    return 0;
}

/// Checks the files of one call, and fixes them where that is asked for.
class Linter {
public:
    Linter(FileSystem& files, const LintFlags& flags) : files_(files), flags_(flags), options_(options_of(flags)) {}

    void add_input() {
        std::string text(lint::LargestFile + 1, '\0');
        text.resize(std::fread(text.data(), 1, text.size(), stdin));
        if (text.size() > lint::LargestFile) return add_error("-", "is larger than " + std::to_string(lint::LargestFile) + " bytes");
        const std::string mended = add({"-", "", true}, std::move(text));
        if (flags_.fix) std::fputs(mended.c_str(), stdout);
    }

    void add_file(const Source& source) {
        auto text = files_.read(source.path, lint::LargestFile);
        if (!text) return add_error(source.name, text.error().message);
        const std::string before = *text, mended = add(source, *std::move(text));
        if (flags_.fix && mended != before)
            if (const auto written = write(source, mended); !written) add_error(source.name, written.error().message);
    }

    int finish() const {
        const bool color = ::isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR");
        // What --fix makes of standard input has standard output for itself.
        const bool to_input = flags_.fix && !flags_.paths.empty() && flags_.paths.front() == "-";
        std::fputs(to_report(reports_, *format_of(flags_.output), color && !to_input).c_str(), to_input ? stderr : stdout);
        if (fixed_) std::fprintf(stderr, "porthole lint: fixes made: %zu\n", fixed_);
        if (templates_)
            std::fprintf(stderr, "porthole lint: Helm templates skipped: %zu; lint the output of `helm template`\n", templates_);
        for (const FileReport& one : reports_)
            if (!one.error.empty()) std::fprintf(stderr, "porthole lint: %s: %s\n", one.name.c_str(), one.error.c_str());
        return exit_code();
    }

private:
    /// The text as it is afterwards.
    std::string add(const Source& source, std::string text) {
        FileReport report{.name = source.name};
        if (flags_.fix) {
            if (auto made = fix(text, options_)) {
                fixed_ += made->edits;
                text = std::move(made->text);
                report.checked = std::move(made->left);
            } else {
                report.error = made.error().message;
            }
        } else if (auto checked = check(text, options_)) {
            report.checked = *std::move(checked);
        } else {
            report.error = checked.error().message;
        }
        if (!report.error.empty() && !source.named && text.contains("{{")) {
            ++templates_;
        } else if (!report.error.empty() || source.named || report.checked.objects > 0) {
            if (!report.checked.problems.empty()) report.text = text;
            reports_.push_back(std::move(report));
        }
        return text;
    }

    void add_error(const std::string& name, const std::string& why) { reports_.push_back({.name = name, .error = why}); }

    Result<void> write(const Source& source, const std::string& text) {
        TRY(const std::string path, files_.real_path(source.path));
        TRY(const FileStatus status, files_.status(path));
        return files_.replace(path, text, status.mode);
    }

    int exit_code() const {
        int code = 0;
        for (const FileReport& file : reports_) {
            if (!file.error.empty()) return 2;
            for (const Problem& one : file.checked.problems)
                if (is_failure(one, flags_.strict)) code = 1;
        }
        return code;
    }

    FileSystem& files_;
    const LintFlags& flags_;
    const Options options_;
    std::vector<FileReport> reports_;
    std::size_t fixed_ = 0, templates_ = 0;
};

}  // namespace

int run_lint(std::vector<std::string> arguments) {
    LintFlags flags;
    CLI::App app("Find fields in manifests that Windows nodes refuse, ignore or handle differently. Needs no cluster.", "lint");
    app.add_option("paths", flags.paths, "files, directories (their *.yaml, *.yml and *.json), or - for standard input");
    app.add_option("--os", flags.system, "the operating system of pods that do not name one")->check(CLI::IsMember({"windows", "linux"}));
    app.add_option("--build", flags.build, "build of the Windows nodes: 2019, 2022, 2025, or a number such as 20348")
        ->check([](const std::string& text) {
            const bool known = text == "2019" || text == "2022" || text == "2025" || CLI::Range(10000, 99999)(text).empty();
            return known ? "" : text + " is not a build of Windows Server: use 2019, 2022, 2025, or a number such as 20348";
        });
    app.add_option("--network", flags.network, "pod network of the Windows nodes")->check(CLI::IsMember({"l2bridge", "overlay"}));
    app.add_option("--runtime", flags.runtime,
                   "container runtime of the Windows nodes, as kubectl get nodes -o wide shows it: containerd://1.5.2, docker");
    app.add_flag("--strict", flags.strict, "fail also if something is ignored or gets advice");
    app.add_flag("--fix", flags.fix,
                 "correct the files where only one correction is possible; comments and order stay. With -, print the corrected text");
    app.add_option("-o,--output", flags.output, "text, json, yaml, sarif, or github for annotations of pull requests")
        ->check(CLI::IsMember({"text", "json", "yaml", "sarif", "github"}))
        ->capture_default_str();
    app.add_option("--explain", flags.code, "describe a rule: WIN305");
    app.add_flag("--rules", flags.rules, "list the rules");
    app.footer(
        "The exit code is 0 if nothing is refused, 1 if something is, 2 if a file cannot be read.\n\n"
        "Examples:\n"
        "  porthole lint deploy/                           what is in a directory\n"
        "  helm template chart | porthole lint -           the output of a chart\n"
        "  kubectl kustomize overlay | porthole lint --os windows --build 2022 -\n"
        "  porthole lint --fix old.yaml                    correct a manifest for an older version");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (!flags.code.empty()) return explain_code(flags.code);
    if (flags.rules) return std::fputs(list_of_rules().c_str(), stdout) < 0 ? 2 : 0;
    if (flags.paths.empty()) return std::fputs("porthole lint: name files or directories, or - for standard input\n", stderr), 2;

    const std::unique_ptr<FileSystem> files = make_file_system();
    Linter linter(*files, flags);
    if (flags.paths.size() == 1 && flags.paths.front() == "-") {
        linter.add_input();
        return linter.finish();
    }
    const auto sources = lint::find_sources(*files, flags.paths);
    if (!sources) return std::fprintf(stderr, "porthole lint: %s\n", sources.error().message.c_str()), 2;
    for (const Source& one : *sources) linter.add_file(one);
    return linter.finish();
}

}  // namespace porthole::cmd
